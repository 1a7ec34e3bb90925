import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { VendorClock } from './clock.js';
import { ManualTime } from './manual-time.harness.js';

const MOMENT = Date.UTC(2026, 10, 18, 14, 14, 59, 999);

describe('VendorClock.window', () => {
  it('a 900 s window at scale 1 starts at a quarter of the hour, such as 14:15', () => {
    const clock = new VendorClock(1, new ManualTime(MOMENT));
    const { id, startsAtMs, resetsAtMs } = clock.window(900);
    expect(id).toBe(Math.floor(MOMENT / 900_000));
    expect(new Date(startsAtMs).toISOString()).toBe('2026-11-18T14:00:00.000Z');
    expect(new Date(resetsAtMs).toISOString()).toBe('2026-11-18T14:15:00.000Z');
  });

  it.each([1, 60, 900, 7])('a 900 s window has the id floor(unix * scale / 900) at scale %i', (scale) => {
    const time = new ManualTime(MOMENT);
    const clock = new VendorClock(scale, time);
    for (let step = 0; step < 50; step++) {
      expect(clock.window(900).id).toBe(Math.floor(((time.nowMs() / 1000) * scale) / 900));
      time.advance(317);
    }
  });

  it('the clock at scale 900 shortens a quarter of an hour to one second and a day to 96 s', () => {
    const clock = new VendorClock(900, new ManualTime(MOMENT));
    const quarter = clock.window(900);
    const day = clock.window(86_400);
    expect(quarter.resetsAtMs - quarter.startsAtMs).toBe(1000);
    expect(day.resetsAtMs - day.startsAtMs).toBe(96_000);
  });

  it('a window ends earlier at a vendor whose clock is ahead', () => {
    const clock = new VendorClock(1, new ManualTime(MOMENT));
    expect(clock.window(900, 1).id).toBe(clock.window(900).id + 1);
    expect(clock.window(900, 1).startsAtMs).toBe(MOMENT);
  });
});

it('work that is due in more than 24.8 days, the longest timer of Node, is not run at once', async () => {
  let runs = 0;
  const cancel = new VendorClock().after(30 * 86_400_000, () => (runs += 1));
  await pause(20);
  cancel();
  expect(runs).toBe(0);
});

it('VendorClock throws RangeError for a time scale of zero, below zero or NaN', () => {
  expect(() => new VendorClock(0)).toThrow(RangeError);
  expect(() => new VendorClock(-1)).toThrow(RangeError);
  expect(() => new VendorClock(Number.NaN)).toThrow(RangeError);
});
