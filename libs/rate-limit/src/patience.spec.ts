import { describe, expect, it } from '@jest/globals';
import { type Acquisition, type Permit } from './acquisition.js';
import { patiently } from './patience.js';

const refused = (window: string, retryAfterMs: number): Acquisition => ({
  kind: 'refused',
  window,
  retryAfterMs,
});
const grant: Acquisition = { kind: 'granted', permit: {} as Permit };

/** Answers one after the other, the last for ever. */
function answering(...answers: Acquisition[]) {
  let asked = 0;
  const ask = () => Promise.resolve(answers[Math.min(asked++, answers.length - 1)] as Acquisition);
  return { ask, asked: () => asked };
}

describe('patience', () => {
  it('waits through a boundary, for as long as it was told, and through taken slots', async () => {
    const { ask } = answering(refused('boundary', 30), refused('slot', 10), refused('slot', 10), grant);
    const startedAt = performance.now();
    expect(await patiently(ask, { waitMs: 1_000 })).toBe(grant);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(38);
  });

  it.each([
    [refused('read 15min', 5)],
    [refused('read day', 5)],
    [{ kind: 'unavailable' } as const],
    [grant],
  ])('does not wait after %j', async (answer) => {
    const { ask, asked } = answering(answer);
    expect(await patiently(ask, { waitMs: 1_000 })).toBe(answer);
    expect(asked()).toBe(1);
  });

  it('does not begin to wait for what is further away than it may wait', async () => {
    const { ask, asked } = answering(refused('boundary', 5_000));
    expect(await patiently(ask, { waitMs: 4_000 })).toEqual(refused('boundary', 5_000));
    expect(asked()).toBe(1);
  });

  it('gives up on a slot that stays taken', async () => {
    let asked = 0;
    // It may be asked any number of times: from the third time on nobody could wait so long.
    const ask = () => Promise.resolve(refused('slot', (asked += 1) < 3 ? 1 : 120_001));
    expect(await patiently(ask, { waitMs: 60_000 })).toEqual(refused('slot', 120_001));
    expect(asked).toBe(3);
  });

  it('ends at once when its caller does', async () => {
    const { ask } = answering(refused('boundary', 30_000));
    const controller = new AbortController();
    const waiting = patiently(ask, { waitMs: 60_000, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await expect(patiently(ask, { waitMs: 1, signal: controller.signal })).rejects.toThrow();
  });
});
