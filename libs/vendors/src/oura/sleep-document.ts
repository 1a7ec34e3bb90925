import { z } from 'zod';
import { type SleepRecord } from '../capabilities/sleep.js';

const Meta = z.object({ version: z.int().min(0), updated_at: z.iso.datetime({ offset: true }) });

const SleepDocument = z.looseObject({
  id: z.string().min(1),
  meta: Meta,
  day: z.iso.date(),
  type: z.enum(['deleted', 'sleep', 'long_sleep', 'late_nap', 'rest']).nullish(),
  total_sleep_duration: z.number().min(0).nullish(),
});

const DailySleepDocument = z.looseObject({
  id: z.string().min(1),
  meta: Meta,
  day: z.iso.date(),
  score: z.number().min(1).max(100).nullish(),
});

export type OuraDailySleep = z.output<typeof DailySleepDocument>;

const SECONDS_OF_A_MINUTE = 60;
// Oura classifies a longer sleep as `long_sleep` (a night) without asking the wearer.
const LONG_SLEEP_SECONDS = 3 * 3_600;
// Sleeps that the wearer rejected or removed.
const DELETED_TYPES = new Set(['deleted', 'rest']);

/**
 * Combines a sleep with the score of its day. The score is in another document, so a new score changes `updatedAt` but not `revision`.
 * Throws a ZodError if the document is not a sleep.
 */
export function toOuraSleep(json: unknown, daily?: OuraDailySleep): SleepRecord {
  const document = SleepDocument.parse(json);
  const { id, meta, day, type, total_sleep_duration: seconds } = document;
  const ofDay = daily?.day === day ? daily : undefined;
  const updatedAtMs = Math.max(
    Date.parse(meta.updated_at),
    ofDay ? Date.parse(ofDay.meta.updated_at) : -Infinity,
  );
  return {
    id,
    date: day,
    durationMinutes: Math.round((seconds ?? 0) / SECONDS_OF_A_MINUTE),
    qualityScore: ofDay?.score ?? null,
    nap: type ? type !== 'long_sleep' : (seconds ?? 0) <= LONG_SLEEP_SECONDS,
    state: DELETED_TYPES.has(type ?? '') ? 'deleted' : seconds == null ? 'pending' : 'scored',
    revision: meta.version,
    updatedAt: new Date(updatedAtMs),
    document,
  };
}

/** Undefined if the document is invalid. A sleep without a score is still valid. */
export function readableDailySleep(json: unknown): OuraDailySleep | undefined {
  return DailySleepDocument.safeParse(json).data;
}

export function toOuraDailySleep(json: unknown): OuraDailySleep {
  return DailySleepDocument.parse(json);
}
