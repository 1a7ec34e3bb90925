import { z } from 'zod';

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

/** A sleep of Oura's in our words. */
export interface OuraSleep {
  readonly id: string;
  /** The local date of waking, by Oura's own word: it cannot be told from UTC. */
  readonly date: string;
  readonly durationMinutes: number;
  readonly qualityScore: number | null;
  readonly nap: boolean;
  readonly state: 'scored' | 'pending' | 'deleted';
  readonly revision: number;
  readonly updatedAt: Date;
  readonly document: Readonly<Record<string, unknown>>;
}

const SECONDS_OF_A_MINUTE = 60;
// Above it Oura says `long_sleep`, which is the night, without asking.
const LONG_SLEEP_SECONDS = 3 * 3_600;
// What the wearer rejected or removed does not count.
const GONE = new Set(['deleted', 'rest']);

/**
 * The score stands in another document, that of the day: a new one makes a new word about the same version. Throws a ZodError
 * where this is no sleep of Oura's.
 */
export function toOuraSleep(json: unknown, daily?: OuraDailySleep): OuraSleep {
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
    state: GONE.has(type ?? '') ? 'deleted' : seconds == null ? 'pending' : 'scored',
    revision: meta.version,
    updatedAt: new Date(updatedAtMs),
    document,
  };
}

/** Undefined where it cannot be read: a sleep may do without its score. */
export function readableDailySleep(json: unknown): OuraDailySleep | undefined {
  return DailySleepDocument.safeParse(json).data;
}

export function toOuraDailySleep(json: unknown): OuraDailySleep {
  return DailySleepDocument.parse(json);
}
