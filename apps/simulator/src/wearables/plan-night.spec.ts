import { describe, expect, it } from '@jest/globals';
import { createAthleteProfile, hypnogramOf, phaseString } from '#training-world';
import { planNight, reviseNight, startOfToday } from './plan-night.js';
import { asleepSeconds } from './reshape-night.js';

const NOW = Date.parse('2026-11-18T14:00:00Z');
const profile = createAthleteProfile(11);

describe('planNight', () => {
  it('planNight gives a night and its phases exactly the ordered time asleep', () => {
    for (let seed = 0; seed < 60; seed++) {
      const minutes = 16 + seed * 10;
      const night = planNight(profile, { duration_minutes: minutes }, seed, NOW);
      const phases = phaseString(hypnogramOf(night), 30);
      const asleepPhases = phases.replaceAll('4', '').length;
      expect([seed, asleepSeconds(night)]).toEqual([seed, minutes * 60]);
      expect([seed, asleepPhases * 30]).toEqual([seed, minutes * 60]);
      expect(phases).toHaveLength((night.endMs - night.startMs) / 30_000);
    }
  });

  it('planNight without a date ends the night this morning, never in the future', () => {
    for (const hour of ['00:02', '03:00', '09:00', '23:59']) {
      const now = Date.parse(`2026-11-18T${hour}:00Z`);
      const night = planNight(profile, {}, 1, now);
      expect(night.endMs).toBeLessThan(now);
      expect(night.endMs).toBeGreaterThanOrEqual(startOfToday(profile, now));
    }
  });

  it('planNight takes date, ends_at, nap, score and state', () => {
    expect(planNight(profile, { date: '2026-10-25' }, 1, NOW).day).toBe('2026-10-25');
    expect(planNight(profile, { ends_at: '2026-10-01T05:00:00+02:00' }, 1, NOW).endMs).toBe(
      Date.parse('2026-10-01T03:00:00Z'),
    );
    expect(planNight(profile, { nap: true, score: 70 }, 1, NOW)).toMatchObject({ nap: true, score: 70 });
    expect(planNight(profile, { state: 'PENDING_SCORE', score: 70 }, 1, NOW)).toMatchObject({
      scored: false,
      score: null,
    });
  });
});

describe('reviseNight', () => {
  const night = planNight(profile, { duration_minutes: 400, score: 80, date: '2026-11-17' }, 5, NOW);

  it('reviseNight keeps the fields that the order leaves out', () => {
    expect(reviseNight(night, {}, NOW)).toEqual(night);
    const longer = reviseNight(night, { duration_minutes: 420 }, NOW);
    expect(longer).toMatchObject({ id: night.id, endMs: night.endMs, score: 80, day: '2026-11-17' });
    expect(asleepSeconds(longer)).toBe(420 * 60);
  });

  it('reviseNight moves a night, and clears and restores its score', () => {
    expect(reviseNight(night, { date: '2026-11-14' }, NOW).day).toBe('2026-11-14');
    const pending = reviseNight(night, { state: 'PENDING_SCORE' }, NOW);
    expect(pending.score).toBeNull();
    expect(reviseNight(pending, { state: 'SCORED' }, NOW).score).toBeGreaterThan(0);
  });
});
