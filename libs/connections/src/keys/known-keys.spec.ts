import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { KnownKeys } from './known-keys.js';

const logger = createLogger({ level: 'silent', process: 'test' });

/** Keys in a table, and a process that knows them; its time passes only by `pass` and by its own pauses. */
function processWith(stored: string[]) {
  let nowMs = 1_000;
  let failure: Error | undefined;
  const state = { loads: 0 };
  const known = new KnownKeys(
    () => {
      state.loads += 1;
      if (failure) return Promise.reject(failure);
      return Promise.resolve(new Map(stored.map((hash) => [hash, `key of ${hash}`])));
    },
    logger,
    {
      nowMs: () => nowMs,
      pause: (ms) => {
        nowMs += ms;
        return Promise.resolve();
      },
    },
  );
  return {
    known,
    state,
    pass: (ms: number) => (nowMs += ms),
    fail: (error: Error | undefined) => (failure = error),
    now: () => nowMs,
  };
}

describe('the service keys that a process knows', () => {
  it('recalls a key without a load for 2 s, then loads in the background, and serves the key meanwhile', async () => {
    const { known, state, pass } = processWith(['a']);
    expect(known.recall('a')).toBeUndefined();
    expect(await known.find('a')).toBe('key of a');
    pass(1_999);
    expect(known.recall('a')).toBe('key of a');
    expect(state.loads).toBe(1);
    pass(1);
    expect(known.recall('a')).toBe('key of a');
    await Promise.resolve();
    expect(state.loads).toBe(2);
  });

  it('forgets a revoked key within 5 s, also if every later load fails', async () => {
    const stored = ['a'];
    const { known, pass, fail } = processWith(stored);
    await known.find('a');
    stored.pop();
    fail(new Error('Postgres is away'));
    pass(4_999);
    expect(known.recall('a')).toBe('key of a');
    await Promise.resolve();
    pass(1);
    expect(known.recall('a')).toBeUndefined();
    await expect(known.find('a')).rejects.toThrow('Postgres is away');
    fail(undefined);
    expect(await known.find('a')).toBeUndefined();
  });

  it('finds a key that was stored after the last load, at once', async () => {
    const stored = ['a'];
    const { known, pass, now } = processWith(stored);
    await known.find('a');
    pass(1);
    const askedAt = now();
    stored.push('b');
    expect(await known.find('b')).toBe('key of b');
    expect(now() - askedAt).toBeLessThanOrEqual(250);
  });

  it('loads four times a second at most, however many different wrong keys arrive', async () => {
    const { known, state, pass, now } = processWith(['a']);
    const beganAt = now();
    for (let round = 0; round < 20; round += 1) {
      pass(1);
      const wrong = Array.from({ length: 500 }, (_, index) => known.find(`wrong ${round} ${index}`));
      expect(new Set(await Promise.all(wrong))).toEqual(new Set([undefined]));
    }
    expect(known.recall('a')).toBe('key of a');
    expect(state.loads).toBeLessThanOrEqual(1 + (now() - beganAt) / 250);
  });
});
