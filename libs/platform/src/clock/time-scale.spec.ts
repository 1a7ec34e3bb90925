import { describe, expect, it } from '@jest/globals';
import { timeScale } from './time-scale.js';

const MINUTE_MS = 60_000;

describe('timeScale', () => {
  it('leaves real time alone at 1', () => {
    const { wait, sweep, guard } = timeScale(1);
    expect([wait(15 * MINUTE_MS), sweep(5_000), guard(30_000)]).toEqual([900_000, 5_000, 30_000]);
  });

  it('makes a 15-minute wait a second at 900', () => {
    expect(timeScale(900).wait(15 * MINUTE_MS)).toBe(1_000);
  });

  it('never sweeps more often than every 250 ms', () => {
    expect(timeScale(900).sweep(MINUTE_MS)).toBe(250);
  });

  it('never lets a guard against dead processes fall below 5 s', () => {
    expect(timeScale(900).guard(10 * MINUTE_MS)).toBe(5_000);
    expect(timeScale(90).guard(20 * MINUTE_MS)).toBe((20 * MINUTE_MS) / 90);
  });
});
