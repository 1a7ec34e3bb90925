import { z } from 'zod';
import { type AthleteProfile, createNight, type Night, offsetMinutesAt } from '#training-world';
import { localDay, momentOf } from './local-time.js';
import { lasting, reshape } from './reshape-night.js';

/** The body of `POST` and `PATCH /__sim/sleep`. PATCH keeps the value of an omitted field; POST derives it from the seed. */
export const SleepOrder = z.object({
  /** Local day of waking. */
  date: z.iso.date().optional(),
  /** Takes precedence over `date`. */
  ends_at: z.iso.datetime({ offset: true }).optional(),
  /** Time asleep, not time in bed. */
  duration_minutes: z.number().int().min(1).max(1200).optional(),
  nap: z.boolean().optional(),
  score: z.number().int().min(1).max(100).nullable().optional(),
  state: z.enum(['SCORED', 'PENDING_SCORE', 'UNSCORABLE']).optional(),
  /** Seconds after which a pending night gets its score, before TIME_SCALE. WHOOP only. */
  score_after_seconds: z.number().min(0).max(86_400).optional(),
  /** Overrides the type that follows from length and hour. Oura only. */
  type: z.enum(['long_sleep', 'sleep', 'late_nap', 'rest', 'deleted']).optional(),
  /** True: optional fields of the document are null or absent. */
  sparse: z.boolean().optional(),
});
export type SleepOrder = z.infer<typeof SleepOrder>;

const WAKES_AT_MINUTES = { night: 6 * 60 + 40, nap: 14 * 60 + 30 };
const SYNC_PAUSE_MS = 60_000;

/**
 * Makes the ordered night. The seed decides the omitted fields. Without `date` and `ends_at` a night ended this morning,
 * and a nap ended a minute ago.
 */
export function planNight(profile: AthleteProfile, order: SleepOrder, seed: number, nowMs: number): Night {
  const nap = order.nap ?? false;
  const endMs = orderedWaking(profile, order, nap, nowMs) ?? usualWaking(profile, nap, nowMs);
  return adjust(createNight({ athlete: profile, seed, nap, endMs }), order);
}

/** The same night after a correction, for example with another length, time or score. */
export function reviseNight(night: Night, order: SleepOrder, nowMs: number): Night {
  const nap = order.nap ?? night.nap;
  const endMs = orderedWaking(night.athlete, order, nap, nowMs) ?? night.endMs;
  if (nap === night.nap && endMs === night.endMs) return adjust(night, order);
  return adjust(reshape(night, { nap, endMs, startMs: night.startMs + endMs - night.endMs }), order);
}

/** The past nights end at local midnight of today, so that the first night ordered for today is today's only night. */
export function startOfToday({ place }: AthleteProfile, nowMs: number): number {
  return momentOf(dayAt(nowMs, place.timeZone), 0, place.timeZone);
}

/** Applies duration, state and score. An order without state and score keeps the state and the score. */
function adjust(night: Night, { duration_minutes: minutes, state, score }: SleepOrder): Night {
  const lasted = minutes === undefined ? night : lasting(night, minutes * 60);
  const isNamed = score === undefined ? night.scored : score !== null;
  const scored = state === undefined ? isNamed : state === 'SCORED';
  return { ...lasted, scored, score: scored ? (score ?? night.score ?? estimate(night)) : null };
}

/** A score for a night that got no score from the seed. */
function estimate({ quality }: Night): number {
  return Math.round(45 + 50 * quality);
}

function orderedWaking(
  { place }: AthleteProfile,
  { date, ends_at: endsAt }: SleepOrder,
  nap: boolean,
  nowMs: number,
): number | undefined {
  if (endsAt !== undefined) return Date.parse(endsAt);
  return date === undefined ? undefined : wakingOn(date, nap, place.timeZone, nowMs);
}

function usualWaking({ place }: AthleteProfile, nap: boolean, nowMs: number): number {
  const latestMs = nowMs - SYNC_PAUSE_MS;
  return nap ? latestMs : wakingOn(dayAt(latestMs, place.timeZone), nap, place.timeZone, nowMs);
}

/** The usual hour of waking on `day`. If `day` is today and that hour is in the future, the night ended a minute ago. */
function wakingOn(day: string, nap: boolean, timeZone: string, nowMs: number): number {
  const wakesAtMs = momentOf(day, nap ? WAKES_AT_MINUTES.nap : WAKES_AT_MINUTES.night, timeZone);
  const latestMs = nowMs - SYNC_PAUSE_MS;
  return dayAt(latestMs, timeZone) === day ? Math.min(wakesAtMs, latestMs) : wakesAtMs;
}

function dayAt(atMs: number, timeZone: string): string {
  return localDay(atMs, offsetMinutesAt(timeZone, atMs));
}
