import { type WhoopSleep } from './whoop-sleep.js';

/** How the body came out of a main sleep; it has no id of its own and is named by the sleep's. */
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
