import { z } from 'zod';
import { type SleepRecord } from '../capabilities/sleep.js';

const StageSummary = z.looseObject({
  total_light_sleep_time_milli: z.number().min(0),
  total_slow_wave_sleep_time_milli: z.number().min(0),
  total_rem_sleep_time_milli: z.number().min(0),
});

const SleepDocument = z.looseObject({
  id: z.string().min(1),
  updated_at: z.iso.datetime({ offset: true }),
  end: z.iso.datetime({ offset: true }),
  timezone_offset: z.string().regex(/^(Z|[+-]\d{2}:\d{2})$/),
  nap: z.boolean(),
  score_state: z.enum(['SCORED', 'PENDING_SCORE', 'UNSCORABLE']),
  score: z
    .looseObject({ stage_summary: StageSummary, sleep_performance_percentage: z.number().nullish() })
    .nullish(),
});

const MINUTE_MS = 60_000;

/** Throws a ZodError if the document is no sleep of WHOOP. */
export function toWhoopSleep(json: unknown): SleepRecord {
  const document = SleepDocument.parse(json);
  const { id, nap, score_state: state, score, end, timezone_offset: offset } = document;
  const scored = state === 'SCORED' ? score : undefined;
  const stages = scored?.stage_summary;
  const asleepMs = stages
    ? stages.total_light_sleep_time_milli +
      stages.total_slow_wave_sleep_time_milli +
      stages.total_rem_sleep_time_milli
    : 0;
  return {
    id,
    // WHOOP has no revision numbers, so `updated_at` decides between two versions.
    revision: 0,
    date: localDate(end, offset),
    durationMinutes: Math.round(asleepMs / MINUTE_MS),
    qualityScore: scored?.sleep_performance_percentage ?? null,
    nap,
    // WHOOP sends another event if it scores a pending sleep later.
    state: scored ? 'scored' : 'pending',
    updatedAt: new Date(document.updated_at),
    document,
  };
}

function localDate(instant: string, offset: string): string {
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d{2}):(\d{2})$/.exec(offset) ?? [];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === '-' ? -1 : 1);
  return new Date(Date.parse(instant) + offsetMs).toISOString().slice(0, 10);
}
