import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Claim } from '../lifecycle/run.js';
import { silent } from '../jobs.harness.js';
import { Leases } from './leases.js';
import { LeaseLost } from './run-ends.js';

const LEASE_MS = 30_000;
const claim = (run_id: string): Claim => ({ job_id: `job of ${run_id}`, run_id, activity_id: 'an activity' });

describe('leases', () => {
  let asked: string[][];
  let answer: (claims: readonly Claim[]) => Promise<ReadonlySet<string>>;
  let leases: Leases;
  const all = (claims: readonly Claim[]) => Promise.resolve(new Set(claims.map(({ run_id }) => run_id)));
  beforeEach(() => {
    jest.useFakeTimers();
    asked = [];
    answer = all;
    const renew = (claims: readonly Claim[]) => {
      asked.push(claims.map(({ run_id }) => run_id));
      return answer(claims);
    };
    leases = new Leases(LEASE_MS, renew, silent);
    leases.start();
  });
  afterEach(() => {
    leases.stop();
    jest.useRealTimers();
  });

  it('are renewed together, at a third of their length, for as long as they are held', async () => {
    const signals = ['a', 'b'].map((run) => leases.hold(claim(run), performance.now()));
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(asked).toEqual(Array.from({ length: 6 }, () => ['a', 'b']));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    leases.drop(claim('a'));
    leases.drop(claim('b'));
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(asked).toHaveLength(6);
  });

  it('that are not renewed any more are lost at once, the others are not', async () => {
    const mine = leases.hold(claim('mine'), performance.now());
    const gone = leases.hold(claim('gone'), performance.now());
    answer = () => Promise.resolve(new Set(['mine']));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(gone.reason).toBeInstanceOf(LeaseLost);
    expect(mine.aborted).toBe(false);
  });

  it('are lost before the database can give them away, where it does not answer', async () => {
    const signal = leases.hold(claim('a'), performance.now());
    answer = () => Promise.reject(new Error('away'));
    await jest.advanceTimersByTimeAsync(LEASE_MS - 1);
    expect(signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(signal.reason).toBeInstanceOf(LeaseLost);
  });

  it('count from when they were asked for', async () => {
    const askedAtMs = performance.now();
    answer = () => new Promise(() => undefined);
    await jest.advanceTimersByTimeAsync(5_000);
    const signal = leases.hold(claim('a'), askedAtMs);
    await jest.advanceTimersByTimeAsync(LEASE_MS - 5_000);
    expect(signal.aborted).toBe(true);
  });
});
