import { beforeAll, describe, expect, it } from '@jest/globals';
import { setVendors } from '../../format/vendors.js';
import { failedAnswer, limitsAnswer, personAnswer, waitingAnswer } from './answers.js';

const NOW = new Date('2026-03-03T12:00:00Z');
type State = Parameters<typeof waitingAnswer>[0];
type Budgets = Parameters<typeof limitsAnswer>[0];

const NONE = { pending: 0, fetching: 0, success: 5, failed: 0, deferred: 0, unavailable: 0 };
const CALM = {
  status_distribution: NONE,
  backfill: [],
  backfills_paused: false,
  needs_attention: { dead_letters: 0, webhook_events_set_aside: 0, stuck_failed: 0 },
} as unknown as State;

const counter = (used: number, closed_until: string | null = null) => ({
  bucket: 'read',
  window: '15min',
  used,
  limit: 100,
  remaining: 100 - used,
  resets_at: '2026-03-03T12:15:00Z',
  closed_until,
  classes: [],
});
const budgets = (...counters: object[]) => [{ provider: 'strava', rate_429_24h: 0, counters }] as Budgets;

describe('the overview', () => {
  beforeAll(() =>
    setVendors([{ provider: 'strava', title: 'Strava', records: ['activities'], has_history: true }]),
  );

  it('says that the calls are within all limits, with the window that is used most', () => {
    expect(limitsAnswer(budgets(counter(5), counter(60)), NOW, 'UTC')).toEqual({
      tone: 'good',
      answer: 'Within all limits',
      detail: 'Most used: Strava, read per 15 min: 60 of 100',
    });
  });

  it('says until when a used-up limit and a vendor that answered 429 stop calls', () => {
    expect(limitsAnswer(budgets(counter(100)), NOW, 'UTC').detail).toBe(
      'Strava, read per 15 min: calls wait until 12:15',
    );
    const closed = limitsAnswer(budgets(counter(100), counter(1, '2026-03-03T13:00:00Z')), NOW, 'UTC');
    expect(closed).toMatchObject({ tone: 'bad', detail: 'Strava, read per 15 min: no call before 13:00' });
  });

  it('says who waits and until when, and names no end if one of the ends is unknown', () => {
    const backfill = [
      { ...NONE, athlete_id: 'a', pending: 3, eta: '2026-03-03T14:00:00Z' },
      { ...NONE, athlete_id: 'b', pending: 1, eta: '2026-03-05T09:30:00Z' },
      { ...NONE, athlete_id: 'c', eta: null },
    ];
    const busy = { ...CALM, status_distribution: { ...NONE, pending: 4 }, backfill };
    expect(waitingAnswer(CALM, [], NOW, 'UTC').answer).toBe('Nothing waits');
    expect(waitingAnswer(busy, [], NOW, 'UTC')).toMatchObject({
      answer: '4 streams of 2 athletes',
      detail: 'done by Thursday 09:30',
    });
    const limited = [{ retry_after: '2026-03-03T12:30:00Z', eta: null }];
    expect(waitingAnswer(busy, limited, NOW, 'UTC')).toMatchObject({
      answer: '1 import and 4 streams of 2 athletes',
      detail: 'resumes at 12:30',
    });
    expect(waitingAnswer({ ...busy, backfills_paused: true }, [], NOW, 'UTC').answer).toBe(
      'Backfills are paused',
    );
  });

  it('says what failed and why, and is alarmed only if a person is needed', () => {
    expect(failedAnswer(CALM, undefined).tone).toBe('good');
    const failed = { ...CALM, status_distribution: { ...NONE, failed: 2 } };
    expect(failedAnswer(failed, 'status 500')).toEqual({
      tone: 'waiting',
      answer: '2 streams failed',
      detail: 'status 500',
    });
    const stuck = { ...failed, needs_attention: { ...CALM.needs_attention, stuck_failed: 1 } };
    expect(failedAnswer(stuck, undefined).tone).toBe('bad');
  });

  it('names the first matter that needs a person', () => {
    expect(personAnswer([]).tone).toBe('good');
    expect(personAnswer(['1 dead letter', '2 connections need consent again'])).toMatchObject({
      answer: '2 matters need a person',
      detail: '1 dead letter',
    });
  });
});
