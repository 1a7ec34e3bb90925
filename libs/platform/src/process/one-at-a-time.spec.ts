import { describe, expect, it } from '@jest/globals';
import { OneAtATime } from './one-at-a-time.js';

describe('work that is the same for many', () => {
  it('is done once for those who ask while it is under way, and anew for who asks after', async () => {
    const once = new OneAtATime<number>();
    let done = 0;
    const work = () => Promise.resolve().then(() => (done += 1));
    expect(await Promise.all([once.run('a', work), once.run('a', work), once.run('b', work)])).toEqual([
      1, 1, 2,
    ]);
    expect(await once.run('a', work)).toBe(3);
  });

  it('fails for all who waited, and is tried again', async () => {
    const once = new OneAtATime<string>();
    const failing = () => Promise.reject(new Error('away'));
    const both = await Promise.allSettled([once.run('a', failing), once.run('a', failing)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await once.run('a', () => Promise.resolve('back'))).toBe('back');
  });
});
