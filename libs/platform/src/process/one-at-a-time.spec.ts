import { describe, expect, it } from '@jest/globals';
import { OneAtATime } from './one-at-a-time.js';

describe('OneAtATime', () => {
  it('OneAtATime runs work once for concurrent calls with the same key, and again for a later call', async () => {
    const once = new OneAtATime<number>();
    let done = 0;
    const work = () => Promise.resolve().then(() => (done += 1));
    expect(await Promise.all([once.run('a', work), once.run('a', work), once.run('b', work)])).toEqual([
      1, 1, 2,
    ]);
    expect(await once.run('a', work)).toBe(3);
  });

  it('OneAtATime rejects all concurrent calls if the work fails, and runs it again for a later call', async () => {
    const once = new OneAtATime<string>();
    const failing = () => Promise.reject(new Error('away'));
    const both = await Promise.allSettled([once.run('a', failing), once.run('a', failing)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await once.run('a', () => Promise.resolve('back'))).toBe('back');
  });
});
