import { hypnogramOf, nightSeriesOf, type Night, STAGES } from '#training-world';
import { type z } from 'zod';
import { isoWithOffset, localDay } from '../wearables/local-time.js';
import { deviceIdOf } from './exercise-document.js';
import { type PolarNight } from './night-log.js';
import { type PolarHabits } from './polar-facts.js';

type Habits = z.infer<typeof PolarHabits>;

const EPOCH_S = 30;
const HEART_RATE_EVERY_S = 300;
const SLEEP_GOAL_S = 8 * 3600;
/** An interruption below 90 s is a short one: at most two epochs. */
const SHORT_EPOCHS = 2;

/** Polar's digits in `hypnogram`. */
const STATE = { wake: 0, rem: 1, lighter: 2, light: 3, deep: 4, unknown: 5 };

/** A night without a score has sentinels in place of Polar's ratings; a sparse one has only times and stages. */
export function nightDocument(record: PolarNight, habits: Habits) {
  const { athleteId, night, isSparse } = record;
  const stages = stagesOf(night);
  const core = {
    polar_user: `https://www.polaraccesslink/v3/users/${athleteId}`,
    date: dateOf(night, habits),
    ...timesOf(night),
    device_id: deviceIdOf(athleteId),
    light_sleep: night.lightS - stages.unrecognizedS,
    deep_sleep: night.deepS,
    rem_sleep: night.remS,
    unrecognized_sleep_stage: stages.unrecognizedS,
    total_interruption_duration: stages.interruptedS,
  };
  if (isSparse) return core;
  return {
    ...core,
    short_interruption_duration: stages.shortS,
    long_interruption_duration: stages.interruptedS - stages.shortS,
    sleep_goal: SLEEP_GOAL_S,
    sleep_cycles: night.sleepCycles,
    ...ratingsOf(night, habits.missing_sleep_score),
    hypnogram: stages.hypnogram,
    heart_rate_samples: heartRatesOf(night),
  };
}

export function availableSleep({ night }: PolarNight, habits: Habits) {
  const { sleep_start_time, sleep_end_time } = timesOf(night);
  return { date: dateOf(night, habits), start_time: sleep_start_time, end_time: sleep_end_time };
}

/** Polar calls it the result date: by name the day of waking. */
export function dateOf(night: Night, { sleep_date }: Habits): string {
  return sleep_date === 'waking' ? night.day : localDay(asleepMs(night), night.utcOffsetMinutes);
}

/** The night begins with the first sleep, not with going to bed. */
function timesOf(night: Night) {
  const { utcOffsetMinutes, endUtcOffsetMinutes, endMs } = night;
  return {
    sleep_start_time: withoutMilliseconds(isoWithOffset(asleepMs(night), utcOffsetMinutes)),
    sleep_end_time: withoutMilliseconds(isoWithOffset(endMs, endUtcOffsetMinutes)),
  };
}

function asleepMs({ startMs, latencyS }: Night): number {
  return startMs + latencyS * 1000;
}

function ratingsOf({ score, quality }: Night, missing: 'zero' | 'absent') {
  if (score === null) {
    const none = { sleep_charge: -1, continuity: 0, continuity_class: 0, sleep_rating: 0 };
    return missing === 'zero' ? { sleep_score: 0, ...none } : none;
  }
  const fifths = Math.max(1, Math.min(5, Math.ceil(score / 20)));
  const group = (weight: number) => Math.max(1, Math.min(100, Math.round(10 * weight * score) / 10));
  return {
    sleep_score: score,
    sleep_charge: fifths,
    continuity: Math.round(10 * (1 + 4 * quality)) / 10,
    continuity_class: Math.max(1, Math.min(5, Math.round(1 + 4 * quality))),
    sleep_rating: fifths,
    group_duration_score: group(1.05),
    group_solidity_score: group(0.95),
    group_regeneration_score: group(0.9),
  };
}

/** The state from each change on, by local minute; within a minute the first change wins. */
function stagesOf(night: Night) {
  const epochs = hypnogramOf(night).subarray(night.latencyS / EPOCH_S);
  const unrecognizedS = Math.min(night.lightS, (night.seed % 5) * 60);
  const states = statesOf(epochs, unrecognizedS / EPOCH_S);
  const hypnogram: Record<string, number> = {};
  let current = -1;
  states.forEach((state, index) => {
    const clock = clockAt(night, index * EPOCH_S);
    if (state === current || clock in hypnogram) return;
    hypnogram[clock] = current = state;
  });
  const interruptedS = Math.max(0, night.awakeS - night.latencyS);
  const shortS = Math.min(interruptedS, shortEpochs(epochs) * EPOCH_S);
  return { hypnogram, unrecognizedS, interruptedS, shortS };
}

/** Light sleep right after waking or REM sleep is the lighter kind; the first `unknown` light epochs have no stage. */
function statesOf(epochs: Uint8Array, unknown: number): number[] {
  let left = unknown;
  return Array.from(epochs, (stage, index) => {
    if (stage === STAGES.awake) return STATE.wake;
    if (stage === STAGES.rem) return STATE.rem;
    if (stage === STAGES.deep) return STATE.deep;
    if (left-- > 0) return STATE.unknown;
    const before = epochs[index - 1];
    return before === STAGES.awake || before === STAGES.rem ? STATE.lighter : STATE.light;
  });
}

/** Epochs in interruptions that are short. */
function shortEpochs(epochs: Uint8Array): number {
  let count = 0;
  let run = 0;
  for (const stage of [...epochs, STAGES.deep]) {
    if (stage === STAGES.awake) run++;
    else {
      if (run <= SHORT_EPOCHS) count += run;
      run = 0;
    }
  }
  return count;
}

/** 0 where the sensor had no contact. */
function heartRatesOf(night: Night): Record<string, number> {
  const beforeS = night.latencyS;
  return Object.fromEntries(
    nightSeriesOf(night).heartRate.flatMap((bpm, index) => {
      const secondsAsleep = index * HEART_RATE_EVERY_S - beforeS;
      return secondsAsleep < 0 ? [] : [[clockAt(night, secondsAsleep), Math.round(bpm ?? 0)]];
    }),
  );
}

/** `00:39`: the local minute, so many seconds after falling asleep. It has no date. */
function clockAt(night: Night, secondsAsleep: number): string {
  return isoWithOffset(asleepMs(night) + secondsAsleep * 1000, night.utcOffsetMinutes).slice(11, 16);
}

function withoutMilliseconds(time: string): string {
  return time.replace('.000', '');
}
