import { describe, expect, it } from '@jest/globals';
import { type PermitOutcome, type Permit } from './permit.js';
import { waitForPermit } from './permit.js';

const notNow = (window: string, retryAfterMs: number): PermitOutcome => ({
  kind: 'notNow',
  window,
  retryAfterMs,
});
const grant = { kind: 'granted', permit: {} as Permit } as PermitOutcome;

/** A budget that gives these outcomes in order, then repeats the last outcome. */
function budgetOf(...outcomes: PermitOutcome[]) {
  let requests = 0;
  const request = () => Promise.resolve(outcomes[Math.min(requests++, outcomes.length - 1)] as PermitOutcome);
  return { request, requests: () => requests };
}

describe('waitForPermit', () => {
  it('waitForPermit waits until a boundary has passed and a slot is free', async () => {
    const { request } = budgetOf(notNow('boundary', 30), notNow('slot', 10), notNow('slot', 10), grant);
    const startedAt = performance.now();
    expect(await waitForPermit(request, { waitMs: 1_000 })).toBe(grant);
    // Each of three timers may be 1 ms early.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(35);
  });

  it.each([[notNow('read 15min', 5)], [notNow('read day', 5)], [{ kind: 'unavailable' } as const], [grant]])(
    'waitForPermit returns %j without waiting',
    async (outcome) => {
      const { request, requests } = budgetOf(outcome);
      expect(await waitForPermit(request, { waitMs: 1_000 })).toBe(outcome);
      expect(requests()).toBe(1);
    },
  );

  it('waitForPermit returns at once if the boundary passes later than waitMs', async () => {
    const { request, requests } = budgetOf(notNow('boundary', 5_000));
    expect(await waitForPermit(request, { waitMs: 4_000 })).toEqual(notNow('boundary', 5_000));
    expect(requests()).toBe(1);
  });

  it('waitForPermit gives up on a slot that stays taken', async () => {
    let requests = 0;
    // From the third request on the slot is free only after waitMs, so that the number of requests is certain.
    const request = () => Promise.resolve(notNow('slot', (requests += 1) < 3 ? 1 : 120_001));
    expect(await waitForPermit(request, { waitMs: 60_000 })).toEqual(notNow('slot', 120_001));
    expect(requests).toBe(3);
  });

  it('waitForPermit rejects at once when its signal aborts', async () => {
    const { request } = budgetOf(notNow('boundary', 30_000));
    const controller = new AbortController();
    const waiting = waitForPermit(request, { waitMs: 60_000, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await expect(waitForPermit(request, { waitMs: 1, signal: controller.signal })).rejects.toThrow();
  });
});
