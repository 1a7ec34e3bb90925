import { formatOffset } from '../athletes/time-zones.js';
import { asleepSeconds } from '../wearables/reshape-night.js';
import { contributor } from './contributors.js';
import { countsForTheDay, type OuraSleep, typeOf } from './oura-sleep.js';

export interface DailySleep {
  readonly id: string;
  readonly day: string;
  readonly version: number;
  readonly updatedAtMs: number;
  /** All sleeps of the day, those that do not count included. */
  readonly sleeps: readonly OuraSleep[];
}

const NAP_SECONDS_PER_POINT = 1800;
const MOST_NAP_POINTS = 5;

/** One score for the whole day, fed by the night and the naps; null while the night has none. */
export function dailySleepDocument({
  id,
  day,
  version,
  updatedAtMs,
  sleeps,
}: DailySleep): Record<string, unknown> {
  const counted = sleeps.filter(countsForTheDay);
  const main = mainSleep(counted);
  const offsetMinutes = (main ?? sleeps[0])?.night.endUtcOffsetMinutes ?? 0;
  const part = (name: string) => (main ? contributor(main.night, name) : null);
  return {
    id,
    meta: { updated_at: new Date(updatedAtMs).toISOString(), version },
    day,
    score: scoreOf(main, counted),
    timestamp: `${day}T00:00:00.000${formatOffset(offsetMinutes)}`,
    contributors: {
      deep_sleep: part('deep_sleep'),
      efficiency: main && main.night.score !== null ? main.night.efficiencyPercent : null,
      latency: part('latency'),
      rem_sleep: part('rem_sleep'),
      restfulness: part('restfulness'),
      timing: part('timing'),
      total_sleep: part('total_sleep'),
    },
  };
}

function mainSleep(counted: readonly OuraSleep[]): OuraSleep | undefined {
  const nights = counted.filter((sleep) => typeOf(sleep) === 'long_sleep' || !sleep.night.nap);
  return nights.sort((a, b) => asleepSeconds(b.night) - asleepSeconds(a.night))[0];
}

/** Each half hour of napping gives a point, so that a nap revises the day it belongs to. */
function scoreOf(main: OuraSleep | undefined, counted: readonly OuraSleep[]): number | null {
  if (!main || main.night.score === null) return null;
  const napSeconds = counted
    .filter((sleep) => sleep !== main)
    .reduce((sum, { night }) => sum + asleepSeconds(night), 0);
  return Math.min(
    100,
    main.night.score + Math.min(MOST_NAP_POINTS, Math.floor(napSeconds / NAP_SECONDS_PER_POINT)),
  );
}
