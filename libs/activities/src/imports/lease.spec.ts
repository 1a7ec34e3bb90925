import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Lease } from './lease.js';

const fail = (error: unknown) => {
  throw error;
};

describe('a lease', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is renewed at a third of its length, for as long as the work takes', async () => {
    let renewals = 0;
    const lease = new Lease(9_000, () => Promise.resolve(++renewals > 0), fail);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(20);
    expect(lease.signal.aborted).toBe(false);
    lease.end();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(20);
  });

  it('is lost at once when somebody else has the work', async () => {
    const lease = new Lease(9_000, () => Promise.resolve(false), fail);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(lease.signal.aborted).toBe(true);
  });

  it('outlives a renewal that failed, of which it tells, but not its own length', async () => {
    const told: unknown[] = [];
    const lease = new Lease(
      9_000,
      () => Promise.reject(new Error('postgres is away')),
      (error) => told.push(error),
    );
    await jest.advanceTimersByTimeAsync(8_999);
    expect(told).toHaveLength(2);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(lease.signal.aborted).toBe(true);
  });

  it('counts from when a renewal was asked for, not from when it was answered', async () => {
    let answer: (renewed: boolean) => void = () => undefined;
    const lease = new Lease(9_000, () => new Promise((resolve) => (answer = resolve)), fail);
    await jest.advanceTimersByTimeAsync(3_000);
    const first = answer;
    await jest.advanceTimersByTimeAsync(2_000);
    first(true);
    await jest.advanceTimersByTimeAsync(6_999);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(lease.signal.aborted).toBe(true);
  });
});
