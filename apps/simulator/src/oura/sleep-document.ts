import { hypnogramOf, type Night, nightSeriesOf, phaseString } from '#training-world';
import { isoWithOffset } from '../wearables/local-time.js';
import { asleepSeconds } from '../wearables/reshape-night.js';
import { contributor, dayOf, type OuraSleep, typeOf } from './oura-sleep.js';

const SERIES_SECONDS = 300;

/** Oura's `PublicModifiedSleepModel`: first the guaranteed fields, then the fields that "may be null or absent". */
export function sleepDocument(sleep: OuraSleep): Record<string, unknown> {
  return { ...guaranteed(sleep), ...(sleep.isSparse ? sparse(sleep) : full(sleep)) };
}

function guaranteed(sleep: OuraSleep) {
  const { night } = sleep;
  return {
    id: sleep.id,
    meta: { updated_at: new Date(sleep.updatedAtMs).toISOString(), version: sleep.version },
    day: dayOf(sleep),
    bedtime_start: isoWithOffset(night.startMs, night.utcOffsetMinutes),
    bedtime_end: isoWithOffset(night.endMs, night.endUtcOffsetMinutes),
    low_battery_alert: false,
    period: night.nap ? 1 : 0,
    time_in_bed: (night.endMs - night.startMs) / 1000,
  };
}

function sparse(sleep: OuraSleep) {
  return {
    type: typeOf(sleep),
    total_sleep_duration: asleepSeconds(sleep.night),
    average_heart_rate: null,
    average_hrv: null,
    lowest_heart_rate: null,
    average_breath: null,
    efficiency: null,
    latency: null,
    heart_rate: null,
    hrv: null,
    readiness: null,
    sleep_phase_30_sec: null,
  };
}

function full(sleep: OuraSleep) {
  const { night } = sleep;
  const hypnogram = hypnogramOf(night);
  const series = nightSeriesOf(night);
  const phases = phaseString(hypnogram, SERIES_SECONDS);
  const start = isoWithOffset(night.startMs, night.utcOffsetMinutes);
  return {
    type: typeOf(sleep),
    total_sleep_duration: asleepSeconds(night),
    awake_time: night.awakeS,
    deep_sleep_duration: night.deepS,
    rem_sleep_duration: night.remS,
    light_sleep_duration: night.lightS,
    efficiency: night.efficiencyPercent,
    latency: night.latencyS,
    restless_periods: night.restlessPeriods,
    average_breath: night.averageBreath,
    average_heart_rate: night.averageHeartRate,
    average_hrv: rounded(night.averageHrvMs),
    lowest_heart_rate: rounded(night.lowestHeartRate),
    sleep_score_delta: null,
    readiness_score_delta: null,
    sleep_algorithm_version: 'v2',
    sleep_analysis_reason: sleep.version > 1 ? 'bedtime_edit' : 'foreground_sleep_analysis',
    heart_rate: { interval: SERIES_SECONDS, items: series.heartRate, timestamp: start },
    hrv: { interval: SERIES_SECONDS, items: series.hrv, timestamp: start },
    sleep_phase_5_min: phases,
    sleep_phase_30_sec: phaseString(hypnogram, 30),
    app_sleep_phase_5_min: phases,
    movement_30_sec: series.movement,
    readiness: night.nap ? null : readiness(night),
    ring_id: null,
  };
}

function readiness(night: Night) {
  return {
    score: contributor(night, 'readiness'),
    temperature_deviation: night.temperatureDeviationC,
    temperature_trend_deviation:
      night.temperatureDeviationC === null ? null : night.temperatureDeviationC / 2,
    contributors: {
      activity_balance: contributor(night, 'activity_balance'),
      body_temperature: contributor(night, 'body_temperature'),
      hrv_balance: contributor(night, 'hrv_balance'),
      previous_day_activity: contributor(night, 'previous_day_activity'),
      previous_night: night.score,
      recovery_index: contributor(night, 'recovery_index'),
      resting_heart_rate: contributor(night, 'resting_heart_rate'),
      sleep_balance: contributor(night, 'sleep_balance'),
      sleep_regularity: contributor(night, 'sleep_regularity'),
    },
  };
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}
