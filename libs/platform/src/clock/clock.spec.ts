import { describe, expect, it } from '@jest/globals';
import { timeScale } from './clock.js';

const MINUTE_MS = 60_000;

describe('timeScale', () => {
  it('timeScale(1) returns real durations unchanged', () => {
    const { wait, sweep, guard } = timeScale(1);
    expect([wait(15 * MINUTE_MS), sweep(5_000), guard(30_000)]).toEqual([900_000, 5_000, 30_000]);
  });

  it('timeScale(900) turns a wait of 15 minutes into a second', () => {
    expect(timeScale(900).wait(15 * MINUTE_MS)).toBe(1_000);
  });

  it('timeScale never returns a sweep interval below 250 ms', () => {
    expect(timeScale(900).sweep(MINUTE_MS)).toBe(250);
  });

  it('timeScale never returns a guard below 5 s', () => {
    expect(timeScale(900).guard(10 * MINUTE_MS)).toBe(5_000);
    expect(timeScale(90).guard(20 * MINUTE_MS)).toBe((20 * MINUTE_MS) / 90);
  });
});
