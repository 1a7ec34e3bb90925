import { createHash } from 'node:crypto';
import { type Night } from '#training-world';
import { type SleepRecord } from '../wearables/sleep-diary.js';
import { localDay, localHour, nextDay } from '../wearables/local-time.js';
import { asleepSeconds } from '../wearables/reshape-night.js';

type SleepType = 'deleted' | 'sleep' | 'long_sleep' | 'late_nap' | 'rest';

export interface OuraSleep extends SleepRecord {
  /** The ordered type. If undefined, the type follows from the duration and the hour. */
  readonly verdict?: SleepType;
  readonly isSparse: boolean;
}

const LONG_SLEEP_SECONDS = 3 * 3600;
const SHORTEST_SLEEP_SECONDS = 15 * 60;
const LATE_HOUR = 18;

/** Over 3 h asleep: long_sleep. Under 15 min: rest. Otherwise a sleep that ends at 18:00 or later: late_nap. Otherwise: sleep. */
export function typeOf({ verdict, night }: OuraSleep): SleepType {
  if (verdict) return verdict;
  const seconds = asleepSeconds(night);
  if (seconds > LONG_SLEEP_SECONDS) return 'long_sleep';
  if (seconds < SHORTEST_SLEEP_SECONDS) return 'rest';
  return localHour(night.endMs, night.endUtcOffsetMinutes) >= LATE_HOUR ? 'late_nap' : 'sleep';
}

/** The local day of waking. A late nap counts for the next day instead. */
export function dayOf(sleep: OuraSleep): string {
  const day = localDay(sleep.night.endMs, sleep.night.endUtcOffsetMinutes);
  return typeOf(sleep) === 'late_nap' ? nextDay(day) : day;
}

/** Sleeps of type deleted or rest stay readable but do not count for the daily score. */
export function countsForTheDay(sleep: OuraSleep): boolean {
  const type = typeOf(sleep);
  return type !== 'deleted' && type !== 'rest';
}

const SPREAD = 12;

/** A contributor of the score, 1 to 100. It differs from the night's score by at most 12; the seed and `name` decide how much. */
export function contributor(night: Night, name: string): number | null {
  if (night.score === null) return null;
  const wobble = createHash('sha256').update(`${night.seed}/${name}`).digest()[0]! / 255;
  return Math.max(1, Math.min(100, Math.round(night.score + SPREAD * (2 * wobble - 1))));
}
