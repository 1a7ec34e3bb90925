import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createAthleteProfile,
  createNight,
  createNights,
  hypnogramOf,
  type Night,
  nightSeriesOf,
  phaseString,
  STAGES,
} from './index.js';
import { PLACES } from './places.js';

const endsAtMs = Date.UTC(2026, 10, 18, 9);
const seeds = fc.integer({ min: 0, max: 2 ** 31 });

describe('createNights', () => {
  it('createNights gives the same newest nights for the same seed and any count', () => {
    const many = createNights({ seed: 4, count: 50, endsAtMs });
    expect(createNights({ seed: 4, count: 20, endsAtMs })).toEqual(many.slice(0, 20));
  });

  it('stages of a night add up to the time in bed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        for (const night of createNights({ seed, count: 30, endsAtMs })) {
          const inBedS = (night.endMs - night.startMs) / 1000;
          expect(night.deepS + night.lightS + night.remS + night.awakeS).toBe(inBedS);
          expect(countOf(hypnogramOf(night), STAGES.rem) * 30).toBe(night.remS);
          expect(night.efficiencyPercent).toBe(Math.round((100 * (inBedS - night.awakeS)) / inBedS));
          expect(night.latencyS).toBeLessThan(inBedS);
          expect(JSON.stringify(night)).not.toMatch(/NaN|Infinity/);
        }
      }),
      // Each run checks 30 nights, so all runs check 300 nights.
      { numRuns: 10 },
    );
  });

  it('nights follow one another without overlap, newest first', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        let nextStartMs = endsAtMs;
        const overlapping = createNights({ seed, count: 120, endsAtMs, napShare: 0.5 }).filter((night) => {
          const isOver = night.endMs < nextStartMs;
          nextStartMs = night.startMs;
          return !isOver;
        });
        expect(overlapping).toEqual([]);
      }),
      // Each run checks 120 nights, so all runs check 1,200 nights.
      { numRuns: 10 },
    );
  });

  it('nights have a human length, and naps are shorter', () => {
    const nights = createNights({ seed: 1, count: 400, endsAtMs, napShare: 0.3 });
    const hours = ({ startMs, endMs }: Night) => (endMs - startMs) / 3_600_000;
    for (const night of nights) {
      expect(hours(night)).toBeGreaterThan(night.nap ? 0.3 : 6);
      expect(hours(night)).toBeLessThan(night.nap ? 1.6 : 9);
    }
    expect(nights.filter(({ nap }) => nap).length).toBeGreaterThan(50);
  });

  it('createNights makes some nights without a score and some without sensor values', () => {
    const nights = createNights({ seed: 2, count: 600, endsAtMs });
    for (const key of ['score', 'averageHeartRate', 'averageHrvMs', 'averageBreath'] as const) {
      const missing = nights.filter((night) => night[key] === null).length;
      expect(missing).toBeGreaterThan(0);
      expect(missing).toBeLessThan(120);
    }
    for (const { score, scored } of nights) expect(score === null).toBe(!scored);
  });

  it('a night during a clock change has different UTC offsets at start and end', () => {
    const athlete = { ...createAthleteProfile(1), place: PLACES[0]! };
    const night = createNight({
      athlete,
      seed: 1,
      endMs: Date.parse('2026-03-29T05:30:00Z'),
      durationS: 8 * 3600,
    });
    expect([night.utcOffsetMinutes, night.endUtcOffsetMinutes]).toEqual([60, 120]);
    expect(night.day).toBe('2026-03-29');
  });

  it('a night belongs to the local day of waking', () => {
    const athlete = { ...createAthleteProfile(1), place: PLACES.find(({ city }) => city === 'Auckland')! };
    const night = createNight({ athlete, seed: 1, endMs: Date.parse('2026-07-01T18:30:00Z') });
    expect(night.day).toBe('2026-07-02');
  });

  it('phaseString prints one digit for each half minute or five minutes', () => {
    const [night] = createNights({ seed: 3, count: 1, endsAtMs });
    const hypnogram = hypnogramOf(night!);
    expect(phaseString(hypnogram, 30)).toBe([...hypnogram].join(''));
    expect(phaseString(hypnogram, 300)).toMatch(/^[1-4]+$/);
    expect(phaseString(hypnogram, 300)).toHaveLength(Math.ceil(hypnogram.length / 10));
    expect(phaseString(Uint8Array.from([2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 4]), 300)).toBe('24');
  });

  it('the heart-rate series of a night has the average of the night and no value below the lowest heart rate', () => {
    const nights = createNights({ seed: 5, count: 40, endsAtMs });
    for (const night of nights) {
      const { heartRate, hrv, movement } = nightSeriesOf(night);
      const known = heartRate.filter((value) => value !== null);
      expect(hrv).toHaveLength(heartRate.length);
      expect(movement).toMatch(/^[1-4]+$/);
      if (night.averageHeartRate === null) {
        expect(known).toHaveLength(0);
        continue;
      }
      const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
      if (!night.nap) expect(Math.abs(mean - night.averageHeartRate)).toBeLessThan(1.5);
      expect(Math.min(...known)).toBeGreaterThanOrEqual(night.lowestHeartRate!);
    }
  });

  it('createNight gives the requested quality', () => {
    const athlete = createAthleteProfile(3);
    const [bad, good] = [0.1, 0.95].map((quality) =>
      createNight({ athlete, seed: 8, endMs: endsAtMs, quality }),
    );
    expect(good!.score!).toBeGreaterThan(bad!.score! + 15);
    expect(createNight({ athlete, seed: 8, endMs: endsAtMs, scored: false }).score).toBeNull();
    expect(createNight({ athlete, seed: 8, endMs: endsAtMs, durationS: 1 }).endMs).toBe(endsAtMs);
  });
});

function countOf(hypnogram: Uint8Array, stage: number): number {
  return hypnogram.filter((value) => value === stage).length;
}
