import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LeaseLost } from '#platform';
import { type RunClaim } from '../lifecycle/run.js';
import { silent } from '../processing.harness.js';
import { Leases } from './leases.js';

const LEASE_MS = 30_000;
const claim = (run_id: string): RunClaim => ({
  athlete_id: 'ann',
  job_id: `job of ${run_id}`,
  run_id,
  activity_id: 'an activity',
});

describe('Leases', () => {
  let renewals: string[][];
  let answer: (claims: readonly RunClaim[]) => Promise<ReadonlySet<string>>;
  let leases: Leases;
  const all = (claims: readonly RunClaim[]) => Promise.resolve(new Set(claims.map(({ run_id }) => run_id)));
  beforeEach(() => {
    jest.useFakeTimers();
    renewals = [];
    answer = all;
    const renew = (claims: readonly RunClaim[]) => {
      renewals.push(claims.map(({ run_id }) => run_id));
      return answer(claims);
    };
    leases = new Leases(LEASE_MS, renew, silent);
    leases.start();
  });
  afterEach(() => {
    leases.stop();
    jest.useRealTimers();
  });

  it('leases are renewed together every third of their length while they are held', async () => {
    const signals = ['a', 'b'].map((run) => leases.hold(claim(run), performance.now()));
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toEqual(Array.from({ length: 6 }, () => ['a', 'b']));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    leases.drop(claim('a'));
    leases.drop(claim('b'));
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toHaveLength(6);
  });

  it('a lease that the database does not renew is lost at once, and the other leases are kept', async () => {
    const mine = leases.hold(claim('mine'), performance.now());
    const gone = leases.hold(claim('gone'), performance.now());
    answer = () => Promise.resolve(new Set(['mine']));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(gone.reason).toBeInstanceOf(LeaseLost);
    expect(mine.aborted).toBe(false);
  });

  it('leases whose renewals fail are lost at their end, measured from the claim', async () => {
    const signal = leases.hold(claim('a'), performance.now());
    answer = () => Promise.reject(new Error('away'));
    await jest.advanceTimersByTimeAsync(LEASE_MS - 1);
    expect(signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(signal.reason).toBeInstanceOf(LeaseLost);
  });

  it('a lease begins when its claim is sent, not when the claim is answered', async () => {
    const renewalsAtMs = performance.now();
    answer = () => new Promise(() => undefined);
    await jest.advanceTimersByTimeAsync(5_000);
    const signal = leases.hold(claim('a'), renewalsAtMs);
    await jest.advanceTimersByTimeAsync(LEASE_MS - 5_000);
    expect(signal.aborted).toBe(true);
  });
});
