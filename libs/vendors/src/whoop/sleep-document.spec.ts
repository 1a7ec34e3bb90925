import { describe, expect, it } from '@jest/globals';
import { toWhoopSleep } from './sleep-document.js';

const sleep = {
  id: 'ecfc6a15-4661-442f-a9a4-f160dd7afae8',
  cycle_id: 93_845,
  user_id: 10_129,
  created_at: '2026-11-18T06:45:10.774Z',
  updated_at: '2026-11-18T06:51:02.120Z',
  start: '2026-11-17T22:25:44.774Z',
  end: '2026-11-18T06:25:44.774Z',
  timezone_offset: '+02:00',
  nap: false,
  score_state: 'SCORED',
  score: {
    stage_summary: {
      total_in_bed_time_milli: 28_800_000,
      total_awake_time_milli: 1_800_000,
      total_light_sleep_time_milli: 14_400_000,
      total_slow_wave_sleep_time_milli: 6_600_000,
      total_rem_sleep_time_milli: 6_000_000,
    },
    sleep_performance_percentage: 97,
  },
};

describe('toWhoopSleep', () => {
  it('toWhoopSleep adds up the sleep stages without the time awake, and takes the performance as the score', () => {
    expect(toWhoopSleep(sleep)).toEqual({
      id: sleep.id,
      revision: 0,
      date: '2026-11-18',
      durationMinutes: 450,
      qualityScore: 97,
      nap: false,
      state: 'scored',
      updatedAt: new Date('2026-11-18T06:51:02.120Z'),
      document: sleep,
    });
  });

  it.each([
    ['2026-11-18T23:30:00.000Z', '+02:00', '2026-11-19'],
    ['2026-11-18T02:30:00.000Z', '-05:00', '2026-11-17'],
    ['2026-11-18T18:31:00.000Z', '+05:30', '2026-11-19'],
    ['2026-11-18T23:59:00.000Z', 'Z', '2026-11-18'],
    // The nights in which Berlin's clocks go forward and back. WHOOP sends the offset at the time of waking.
    ['2026-03-28T22:30:00.000Z', '+01:00', '2026-03-28'],
    ['2026-03-29T22:30:00.000Z', '+02:00', '2026-03-30'],
    ['2026-10-25T22:30:00.000Z', '+01:00', '2026-10-25'],
  ])('toWhoopSleep dates a sleep that ends at %s with offset %s to %s', (end, timezone_offset, date) => {
    expect(toWhoopSleep({ ...sleep, end, timezone_offset }).date).toBe(date);
  });

  it.each(['PENDING_SCORE', 'UNSCORABLE'])('toWhoopSleep reads a %s sleep as pending', (score_state) => {
    const { score: _, ...unscored } = sleep;
    expect(toWhoopSleep({ ...unscored, score_state })).toMatchObject({
      state: 'pending',
      durationMinutes: 0,
      qualityScore: null,
    });
  });

  it('toWhoopSleep accepts a scored sleep without a performance', () => {
    const score = { stage_summary: sleep.score.stage_summary };
    expect(toWhoopSleep({ ...sleep, score })).toMatchObject({ state: 'scored', qualityScore: null });
  });

  it('toWhoopSleep throws for a sleep with an invalid offset or without an id', () => {
    expect(() => toWhoopSleep({ ...sleep, timezone_offset: 'Europe/Berlin' })).toThrow();
    expect(() => toWhoopSleep({ ...sleep, id: undefined })).toThrow();
  });
});
