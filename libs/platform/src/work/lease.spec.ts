import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { timeScale } from '../clock/clock.js';
import { KeptLease, leaseLength, LeaseLost } from './lease.js';

const fail = (error: unknown) => {
  throw error;
};

describe('a lease', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('a lease is renewed at each third of its length until the work ends', async () => {
    let renewals = 0;
    const lease = new KeptLease(9_000, performance.now(), () => Promise.resolve(++renewals > 0), fail);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(20);
    expect(lease.signal.aborted).toBe(false);
    lease.end();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(20);
  });

  it('a lease is lost at once when another worker has claimed the row', async () => {
    const lease = new KeptLease(9_000, performance.now(), () => Promise.resolve(false), fail);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
  });

  it('a lease reports failed renewals, and survives them until its length has passed', async () => {
    const reported: unknown[] = [];
    const lease = new KeptLease(
      9_000,
      performance.now(),
      () => Promise.reject(new Error('postgres is away')),
      (error) => reported.push(error),
    );
    await jest.advanceTimersByTimeAsync(8_999);
    expect(reported).toHaveLength(2);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(lease.signal.aborted).toBe(true);
  });

  it('a lease counts from the request of its renewal, not from the answer', async () => {
    let answer: (renewed: boolean) => void = () => undefined;
    const lease = new KeptLease(
      9_000,
      performance.now(),
      () => new Promise((resolve) => (answer = resolve)),
      fail,
    );
    await jest.advanceTimersByTimeAsync(3_000);
    const first = answer;
    await jest.advanceTimersByTimeAsync(2_000);
    first(true);
    await jest.advanceTimersByTimeAsync(6_999);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(lease.signal.aborted).toBe(true);
  });

  it('a lease counts from the request of its claim, not from the answer', async () => {
    const requestedAtMs = performance.now() - 4_000;
    const lease = new KeptLease(9_000, requestedAtMs, () => new Promise(() => undefined), fail);
    await jest.advanceTimersByTimeAsync(4_999);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(lease.signal.aborted).toBe(true);
  });
});

describe('leaseLength', () => {
  it('leaseLength divides by TIME_SCALE, and stays above 5 s and above what the lease has to outlast', () => {
    expect(leaseLength(timeScale(1), 60_000, 20_000)).toBe(60_000);
    expect(leaseLength(timeScale(2), 60_000, 20_000)).toBe(30_000);
    expect(leaseLength(timeScale(900), 60_000, 20_000)).toBe(20_000);
    expect(leaseLength(timeScale(900), 60_000)).toBe(5_000);
  });
});
