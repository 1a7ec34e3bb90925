import { describe, expect, it, jest } from '@jest/globals';
import { timeScale } from '#platform';
import { VENDORS } from '#vendors';
import { CachedLimits } from './cached-limits.js';

describe('the cached limits of a vendor', () => {
  it('Redis’ clock as a process knows it does not move when the process’s own clock is set', () => {
    const cached = new CachedLimits(VENDORS.strava.limits, timeScale(1));
    const redisMs = Date.parse('2026-11-18T14:29:00.000Z');
    cached.setClock(redisMs, performance.now());
    const clock = jest.spyOn(Date, 'now').mockReturnValue(redisMs + 86_400_000);
    try {
      expect(Math.abs(cached.nowMs() - redisMs)).toBeLessThan(30_000);
    } finally {
      clock.mockRestore();
    }
  });

  it('before the first answer of Redis, its clock counts as the process’s own', () => {
    const cached = new CachedLimits(VENDORS.strava.limits, timeScale(1));
    expect(Math.abs(cached.nowMs() - Date.now())).toBeLessThan(30_000);
  });
});
