import { type SleepRecord } from '../wearables/sleep-diary.js';
import { localDay, localHour, nextDay } from '../wearables/local-time.js';
import { asleepSeconds } from '../wearables/reshape-night.js';

export type SleepType = 'deleted' | 'sleep' | 'long_sleep' | 'late_nap' | 'rest';

export interface OuraSleep extends SleepRecord {
  /** The user's verdict; without one the type follows from length and hour. */
  readonly verdict?: SleepType;
  readonly isSparse: boolean;
}

const LONG_SLEEP_SECONDS = 3 * 3600;
const SHORTEST_SLEEP_SECONDS = 15 * 60;
const LATE_HOUR = 18;

/** Above three hours a sleep counts by itself; below it is a nap, late after 18:00; under 15 minutes just rest. */
export function typeOf({ verdict, night }: OuraSleep): SleepType {
  if (verdict) return verdict;
  const seconds = asleepSeconds(night);
  if (seconds > LONG_SLEEP_SECONDS) return 'long_sleep';
  if (seconds < SHORTEST_SLEEP_SECONDS) return 'rest';
  return localHour(night.endMs, night.endUtcOffsetMinutes) >= LATE_HOUR ? 'late_nap' : 'sleep';
}

/** The waking day, from the sleeper's clock; a late nap counts for the next one. */
export function dayOf(sleep: OuraSleep): string {
  const day = localDay(sleep.night.endMs, sleep.night.endUtcOffsetMinutes);
  return typeOf(sleep) === 'late_nap' ? nextDay(day) : day;
}

/** Rejected and removed sleeps stay readable but feed no daily score. */
export function countsForTheDay(sleep: OuraSleep): boolean {
  const type = typeOf(sleep);
  return type !== 'deleted' && type !== 'rest';
}
