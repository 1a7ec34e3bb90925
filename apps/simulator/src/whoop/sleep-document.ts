import { formatOffset } from '#training-world';
import { asleepSeconds } from '../wearables/reshape-night.js';
import { type WhoopSleep } from './whoop-journal.js';

const BASELINE_NEED_MS = 27_395_716;

/** A v2 sleep, with stages in milliseconds and times in UTC. Only a SCORED sleep has the field `score`. */
export function sleepDocument(sleep: WhoopSleep): Record<string, unknown> {
  const { night, scoreState } = sleep;
  return {
    id: sleep.id,
    cycle_id: sleep.cycleId,
    user_id: Number(sleep.athleteId),
    created_at: new Date(sleep.createdAtMs).toISOString(),
    updated_at: new Date(sleep.updatedAtMs).toISOString(),
    start: new Date(night.startMs).toISOString(),
    end: new Date(night.endMs).toISOString(),
    timezone_offset: timezoneOffset(night.endUtcOffsetMinutes),
    nap: night.nap,
    score_state: scoreState,
    ...(scoreState === 'SCORED' && { score: scoreOf(sleep) }),
  };
}

export function timezoneOffset(minutes: number): string {
  return minutes === 0 ? 'Z' : formatOffset(minutes);
}

function scoreOf(sleep: WhoopSleep) {
  const { night } = sleep;
  const guaranteed = {
    stage_summary: {
      total_in_bed_time_milli: night.endMs - night.startMs,
      total_awake_time_milli: night.awakeS * 1000,
      total_no_data_time_milli: 0,
      total_light_sleep_time_milli: night.lightS * 1000,
      total_slow_wave_sleep_time_milli: night.deepS * 1000,
      total_rem_sleep_time_milli: night.remS * 1000,
      sleep_cycle_count: night.sleepCycles,
      disturbance_count: night.disturbances,
    },
    sleep_needed: {
      baseline_milli: BASELINE_NEED_MS,
      need_from_sleep_debt_milli: Math.round((1 - night.quality) * 3_600_000),
      need_from_recent_strain_milli: (night.seed % 40) * 15_000,
      need_from_recent_nap_milli: night.nap ? -asleepSeconds(night) * 500 : 0,
    },
  };
  return sleep.isSparse ? guaranteed : { ...guaranteed, ...optional(sleep) };
}

/** The four fields that a scored sleep may lack. */
function optional({ night }: WhoopSleep) {
  return {
    ...(night.averageBreath !== null && { respiratory_rate: night.averageBreath }),
    ...(night.score !== null && { sleep_performance_percentage: night.score }),
    sleep_consistency_percentage: 60 + Math.round(35 * night.quality),
    sleep_efficiency_percentage: (100 * asleepSeconds(night) * 1000) / (night.endMs - night.startMs),
  };
}

/** The recovery of a main sleep. A recovery has no id and is identified by the id of the sleep. */
export function recoveryDocument(sleep: WhoopSleep): Record<string, unknown> {
  const { night, scoreState } = sleep;
  return {
    cycle_id: sleep.cycleId,
    sleep_id: sleep.id,
    user_id: Number(sleep.athleteId),
    created_at: new Date(sleep.createdAtMs).toISOString(),
    updated_at: new Date(sleep.updatedAtMs).toISOString(),
    score_state: scoreState,
    ...(scoreState === 'SCORED' && {
      score: {
        user_calibrating: false,
        recovery_score: Math.round(15 + 80 * night.quality),
        resting_heart_rate: Math.round(night.lowestHeartRate ?? night.athlete.restingHeartRate),
        hrv_rmssd_milli: night.averageHrvMs ?? 0,
        spo2_percentage: 95.5,
        skin_temp_celsius: Math.round((33.5 + (night.temperatureDeviationC ?? 0)) * 100) / 100,
      },
    }),
  };
}
