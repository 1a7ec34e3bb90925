import { describe, expect, it } from '@jest/globals';
import { createLogger, timeScale } from '#platform';
import { Breaker } from './breaker.js';

describe('Breaker', () => {
  const breaker = () => new Breaker(timeScale(1), createLogger({ level: 'silent', process: 'test' }));

  it('the backfill’s breaker opens for 15 minutes after three outages in a row', () => {
    const one = breaker();
    for (const isOutage of [true, true, false, true, true]) one.record(isOutage);
    expect(one.pauseMs()).toBe(0);
    one.record(true);
    expect(one.pauseMs()).toBeGreaterThan(890_000);
  });

  it('a success after the pause resets the backfill’s breaker', () => {
    // Time runs so fast that each pause is over at once.
    const one = new Breaker(timeScale(1e9), createLogger({ level: 'silent', process: 'test' }));
    for (let failures = 0; failures < 3; failures += 1) one.record(true);
    expect(one.pauseMs()).toBeLessThan(1);
    one.record(false);
    one.record(true);
    expect(one.pauseMs()).toBe(0);
  });
});
