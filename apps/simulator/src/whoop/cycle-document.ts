import { timezoneOffset } from './sleep-document.js';
import { type WhoopSleep } from './whoop-journal.js';

/** A cycle lasts from the onset of one main sleep to the onset of the next. */
interface Cycle {
  readonly sleep: WhoopSleep;
  readonly startMs: number;
  /** Infinity for the present cycle. */
  readonly endMs: number;
}

const MOST_STRAIN = 21;

/** The cycles of one person, newest first. `mainSleeps` must be newest first as well. */
export function cyclesOf(mainSleeps: readonly WhoopSleep[]): Cycle[] {
  return mainSleeps.map((sleep, index) => ({
    sleep,
    startMs: sleep.night.startMs,
    endMs: mainSleeps[index - 1]?.night.startMs ?? Infinity,
  }));
}

export function cycleDocument({ sleep, startMs, endMs }: Cycle): Record<string, unknown> {
  const { night, scoreState } = sleep;
  return {
    id: sleep.cycleId,
    user_id: Number(sleep.athleteId),
    created_at: new Date(sleep.createdAtMs).toISOString(),
    updated_at: new Date(sleep.updatedAtMs).toISOString(),
    start: new Date(startMs).toISOString(),
    ...(endMs !== Infinity && { end: new Date(endMs).toISOString() }),
    timezone_offset: timezoneOffset(night.endUtcOffsetMinutes),
    score_state: scoreState,
    ...(scoreState === 'SCORED' && { score: scoreOf(sleep) }),
  };
}

/** The seed decides the strain, which is evenly distributed from 0 to 21. */
function scoreOf({ night }: WhoopSleep) {
  const strain = ((night.seed % 997) / 997) * MOST_STRAIN;
  const { restingHeartRate, maxHeartRate, weightKg } = night.athlete;
  const reserve = maxHeartRate - restingHeartRate;
  return {
    strain: Math.round(strain * 1e4) / 1e4,
    kilojoule: Math.round(weightKg * (110 + 4 * strain)),
    average_heart_rate: Math.round(restingHeartRate + 0.14 * reserve),
    max_heart_rate: Math.round(restingHeartRate + reserve * (0.5 + (0.45 * strain) / MOST_STRAIN)),
  };
}
