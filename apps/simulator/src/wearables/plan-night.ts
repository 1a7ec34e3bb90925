import { type AthleteProfile, createNight, type Night } from '../athletes/index.js';
import { offsetMinutesAt } from '../athletes/time-zones.js';
import { localDay, momentOf } from './local-time.js';
import { lasting, reshape } from './reshape-night.js';
import { type SleepOrder } from './sleep-order.js';

const WAKES_AT_MINUTES = { night: 6 * 60 + 40, nap: 14 * 60 + 30 };
const SYNC_PAUSE_MS = 60_000;

/** A night as ordered: what the order leaves open comes from the seed. Without a date it ended this morning. */
export function planNight(profile: AthleteProfile, order: SleepOrder, seed: number, nowMs: number): Night {
  const nap = order.nap ?? false;
  const endMs = orderedWaking(profile, order, nap, nowMs) ?? usualWaking(profile, nap, nowMs);
  return adjust(createNight({ athlete: profile, seed, nap, endMs }), order);
}

/** The same night after a correction: longer, moved, scored anew. */
export function reviseNight(night: Night, order: SleepOrder, nowMs: number): Night {
  const nap = order.nap ?? night.nap;
  const endMs = orderedWaking(night.athlete, order, nap, nowMs) ?? night.endMs;
  if (nap === night.nap && endMs === night.endMs) return adjust(night, order);
  return adjust(reshape(night, { nap, endMs, startMs: night.startMs + endMs - night.endMs }), order);
}

/** History ends where today begins, so that the first ordered night is the only one of its day. */
export function startOfToday({ place }: AthleteProfile, nowMs: number): number {
  return momentOf(dayAt(nowMs, place.timeZone), 0, place.timeZone);
}

/** An order that names neither state nor score leaves both as they were. */
function adjust(night: Night, { duration_minutes: minutes, state, score }: SleepOrder): Night {
  const lasted = minutes === undefined ? night : lasting(night, minutes * 60);
  const isNamed = score === undefined ? night.scored : score !== null;
  const scored = state === undefined ? isNamed : state === 'SCORED';
  return { ...lasted, scored, score: scored ? (score ?? night.score ?? estimate(night)) : null };
}

/** For a night that the seed left without. */
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

/** Early in the day nobody has woken at the usual hour yet; a date further on is the caller's wish. */
function wakingOn(day: string, nap: boolean, timeZone: string, nowMs: number): number {
  const wakesAtMs = momentOf(day, nap ? WAKES_AT_MINUTES.nap : WAKES_AT_MINUTES.night, timeZone);
  const latestMs = nowMs - SYNC_PAUSE_MS;
  return dayAt(latestMs, timeZone) === day ? Math.min(wakesAtMs, latestMs) : wakesAtMs;
}

function dayAt(atMs: number, timeZone: string): string {
  return localDay(atMs, offsetMinutesAt(timeZone, atMs));
}
