import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createAthleteProfile,
  createHistory,
  detailJson,
  streamsJson,
  STREAM_KEYS,
  summaryJson,
  summaryOf,
} from './index.js';
import { planOf } from './plan.js';

const endsAtMs = Date.UTC(2026, 10, 18, 9);
const seeds = fc.integer({ min: 0, max: 2 ** 31 });

describe('createHistory', () => {
  it('createHistory gives the same bytes for the same seed', () => {
    const [one, two] = [
      createHistory({ seed: 5, count: 16, endsAtMs }),
      createHistory({ seed: 5, count: 16, endsAtMs }),
    ];
    expect(one.map(detailJson)).toEqual(two.map(detailJson));
    expect(one.map((activity) => streamsJson(activity, STREAM_KEYS, true)?.toString())).toEqual(
      two.map((activity) => streamsJson(activity, STREAM_KEYS, true)?.toString()),
    );
  });

  it('documents of a history do not depend on the order in which they are made', () => {
    const forwards = createHistory({ seed: 9, count: 60, endsAtMs }).map(summaryJson);
    const backwards = createHistory({ seed: 9, count: 60, endsAtMs }).reverse().map(summaryJson).reverse();
    expect(backwards).toEqual(forwards);
  });

  it('createHistory differs between seeds', () => {
    const [one, two] = [1, 2].map((seed) => createHistory({ seed, count: 10, endsAtMs }).map(summaryJson));
    expect(one).not.toEqual(two);
  });

  it('activities of a history are newest first and do not overlap', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 250 }), (seed, count) => {
        const history = createHistory({ seed, count, endsAtMs });
        expect(history).toHaveLength(count);
        let nextStartMs = endsAtMs;
        const overlapping = history.filter((activity) => {
          const isOver = activity.startMs + planOf(activity).elapsedS * 1000 < nextStartMs;
          nextStartMs = activity.startMs;
          return !isOver;
        });
        expect(overlapping).toEqual([]);
      }),
      // The second athlete flew east overnight.
      {
        numRuns: 40,
        examples: [
          [1, 250],
          [615_064_356, 145],
        ],
      },
    );
  });

  it('the newest activity of a history starts less than 21 days before the given moment', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const [newest] = createHistory({ seed, count: 1, endsAtMs });
        expect(endsAtMs - newest!.startMs).toBeLessThan(21 * 86_400_000);
      }),
      { numRuns: 40 },
    );
  });

  it('newer activities of a history have higher ids', () => {
    const history = createHistory({ seed: 3, count: 5000, endsAtMs });
    const ids = history.map(({ id }) => BigInt(id));
    expect(ids.every((id, index) => index === 0 || id < ids[index - 1]!)).toBe(true);
    expect(new Set(history.map(({ seed }) => seed)).size).toBeGreaterThan(4990);
  });

  it('histories of different seeds share no id', () => {
    const ids = [1, 2, 3, 4].flatMap((seed) =>
      createHistory({ seed, count: 500, endsAtMs }).map(({ id }) => id),
    );
    expect(new Set(ids).size).toBe(2000);
  });

  it('a history keeps every digit of ids beyond 2^53', () => {
    const [activity] = createHistory({ seed: 3, count: 1, endsAtMs, firstId: 9_007_199_254_740_993n });
    expect(BigInt(activity!.id)).toBeGreaterThanOrEqual(9_007_199_254_740_993n);
    expect(summaryJson(activity!)).toContain(`"id":${activity!.id},`);
    expect(detailJson(activity!)).toContain(`"id":${activity!.id},`);
  });

  it('a history has exactly the requested share of manual entries', () => {
    for (const manualShare of [0, 0.05, 0.1, 0.5, 1]) {
      const history = createHistory({ seed: 8, count: 1000, endsAtMs, manualShare });
      expect(history.filter(({ manual }) => manual)).toHaveLength(1000 * manualShare);
    }
  });

  it('a history of 12,000 activities covers 10 to 24 years', () => {
    const history = createHistory({ seed: 4, count: 12_000, endsAtMs });
    const years = (endsAtMs - history[history.length - 1]!.startMs) / (365.25 * 86_400_000);
    expect(years).toBeGreaterThan(10);
    expect(years).toBeLessThan(24);
  });

  it('in a history the hardest tenth of the weeks has over twice the kilometres of the easiest tenth', () => {
    const weeks = weeklyRunKilometres(11);
    const sorted = [...weeks].sort((a, b) => a - b);
    const strong = sorted[Math.floor(sorted.length * 0.9)]!;
    const weak = sorted[Math.floor(sorted.length * 0.1)]!;
    expect(strong).toBeGreaterThan(2 * weak);
    expect(strong).toBeLessThan(160);
  });

  it("a history has long runs on the athlete's long day, and has days of rest", () => {
    const athlete = createAthleteProfile(21);
    const history = createHistory({ seed: 21, count: 600, endsAtMs, athlete });
    const long = history.filter(({ session }) => session.profile === 'long');
    const days = new Set(long.map((activity) => new Date(summaryOf(activity).start_date_local).getUTCDay()));
    expect([...days]).toEqual([athlete.longRunDay === 'sunday' ? 0 : 6]);
    const active = new Set(history.map(({ startMs }) => Math.floor(startMs / 86_400_000)));
    const span = (endsAtMs - history[history.length - 1]!.startMs) / 86_400_000;
    expect(active.size).toBeLessThan(span * 0.95);
  });

  it('each activity of a history has a sport that its session allows', () => {
    const history = [1, 2, 3].flatMap((seed) => createHistory({ seed, count: 900, endsAtMs }));
    expect(history.filter(({ session, sport }) => !session.sports.includes(sport as never))).toEqual([]);
  });

  it('histories contain every kind of session', () => {
    const seen = new Set(
      [1, 2, 3]
        .flatMap((seed) => createHistory({ seed, count: 900, endsAtMs }))
        .map(({ session }) => session.profile),
    );
    for (const profile of [
      'easy',
      'recovery',
      'steady',
      'tempo',
      'progression',
      'intervals',
      'hills',
      'long',
      'race',
      'ride',
      'walk',
      'hike',
      'swim',
      'strength',
    ]) {
      expect(seen).toContain(profile);
    }
  });

  it('summaries of a history show the local time of the place, summer time included', () => {
    // 400 activities span about nine months, with both clock changes.
    const history = createHistory({ seed: 6, count: 400, endsAtMs });
    for (const activity of history) {
      const { start_date, start_date_local, utc_offset, timezone } = summaryOf(activity);
      expect(Date.parse(start_date_local) - Date.parse(start_date)).toBe(utc_offset * 1000);
      expect(timezone).toBe(`(GMT${timezone.slice(4, 10)}) ${activity.place.timeZone}`);
      expect(wallClock(start_date, activity.place.timeZone)).toBe(start_date_local.slice(0, 16));
    }
  });
});

function weeklyRunKilometres(seed: number): number[] {
  const weeks = new Map<number, number>();
  for (const activity of createHistory({ seed, count: 1200, endsAtMs })) {
    if (activity.sport !== 'Run') continue;
    const week = Math.floor(activity.startMs / (7 * 86_400_000));
    weeks.set(week, (weeks.get(week) ?? 0) + summaryOf(activity).distance / 1000);
  }
  return [...weeks.values()];
}

function wallClock(iso: string, timeZone: string): string {
  const text = new Date(iso).toLocaleString('sv-SE', { timeZone });
  return text.slice(0, 16).replace(' ', 'T');
}
