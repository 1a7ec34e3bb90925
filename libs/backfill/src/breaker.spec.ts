import { describe, expect, it } from '@jest/globals';
import { createLogger, timeScale } from '#platform';
import { Breaker } from './breaker.js';

describe('a vendor in trouble', () => {
  const breaker = () => new Breaker(timeScale(1), createLogger({ level: 'silent', process: 'test' }));

  it('is left alone after three failures in a row', () => {
    const one = breaker();
    for (const isOutage of [true, true, false, true, true]) one.tell(isOutage);
    expect(one.pauseMs()).toBe(0);
    one.tell(true);
    expect(one.pauseMs()).toBeGreaterThan(890_000);
  });

  it('is left alone again when the next one fails as well', () => {
    // So fast that each pause is over at once.
    const one = new Breaker(timeScale(1e9), createLogger({ level: 'silent', process: 'test' }));
    for (let failures = 0; failures < 3; failures += 1) one.tell(true);
    expect(one.pauseMs()).toBeLessThan(1);
    one.tell(false);
    one.tell(true);
    expect(one.pauseMs()).toBe(0);
  });
});
