import { formatOffset } from '#training-world';
import { asleepSeconds } from '../wearables/reshape-night.js';
import { contributor, countsForTheDay, type OuraSleep, typeOf } from './oura-sleep.js';

export interface DailySleep {
  readonly id: string;
  readonly day: string;
  readonly version: number;
  readonly updatedAtMs: number;
  /** All sleeps of the day. Some of them do not count for the score. */
  readonly sleeps: readonly OuraSleep[];
}

const NAP_SECONDS_PER_POINT = 1800;
const MOST_NAP_POINTS = 5;

/** The document has the score of the whole day, from night and naps. The score is null while the night has no score. */
export function dailySleepDocument(daily: DailySleep): Record<string, unknown> {
  const { id, day, version, updatedAtMs, sleeps } = daily;
  const counted = sleeps.filter(countsForTheDay);
  const main = mainSleep(counted);
  const offsetMinutes = (main ?? sleeps[0])?.night.endUtcOffsetMinutes ?? 0;
  const part = (name: string) => (main ? contributor(main.night, name) : null);
  return {
    id,
    meta: { updated_at: new Date(updatedAtMs).toISOString(), version },
    day,
    score: scoreOfDay(daily),
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

export function scoreOfDay({ sleeps }: DailySleep): number | null {
  const counted = sleeps.filter(countsForTheDay);
  return scoreOf(mainSleep(counted), counted);
}

function mainSleep(counted: readonly OuraSleep[]): OuraSleep | undefined {
  const nights = counted.filter((sleep) => typeOf(sleep) === 'long_sleep' || !sleep.night.nap);
  return nights.sort((a, b) => asleepSeconds(b.night) - asleepSeconds(a.night))[0];
}

/** Each half hour of naps adds one point, up to five points. So a nap changes the day's document. */
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
