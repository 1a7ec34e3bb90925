import { type LatLng, type StreamKey, streamsOf, truthOf } from '#training-world';
import { type z } from 'zod';
import { chanceOf, type PolarExercise } from './exercise-log.js';
import { type PolarHabits } from './polar-facts.js';

type Pauses = z.infer<typeof PolarHabits>['pauses'];
export type Series = Exclude<StreamKey, 'latlng' | 'moving' | 'time' | 'grade_smooth'>;

/** The session as the watch saw it. The second counts from the start of the session, also during pauses if they count. */
export interface Recording {
  readonly seconds: number;
  has(key: Series): boolean;
  /** Null where the watch paused or the sensor was off. */
  valueAt(key: Series, second: number): number | null;
  readonly hasRoute: boolean;
  positionAt(second: number): LatLng | null;
}

const KEYS: readonly StreamKey[] = [
  'time',
  'distance',
  'latlng',
  'altitude',
  'velocity_smooth',
  'heartrate',
  'cadence',
  'watts',
  'temp',
];

/** Duration in milliseconds, from the plan alone: a list without samples computes no streams. */
export function durationMsOf({ activity, form }: PolarExercise, pauses: Pauses): number {
  const { elapsed_time_s: elapsedS, stops } = truthOf(activity);
  const pausedS = stops.filter(({ paused }) => paused).reduce((sum, { seconds }) => sum + seconds, 0);
  const seconds = pauses === 'counted' ? elapsedS : elapsedS - pausedS;
  return Math.round(seconds * form.durationFactor) * 1000 + form.extraMs;
}

/** Undefined for a session typed in by hand. */
export function recordingOf(exercise: PolarExercise, pauses: Pauses): Recording | undefined {
  const { activity, form } = exercise;
  const streams = streamsOf(activity, KEYS);
  const time = streams?.time;
  if (!streams || !time) return undefined;
  const indexAt = pauses === 'counted' ? elapsedIndex(time) : (second: number) => second;
  const seconds = Math.floor(durationMsOf(exercise, pauses) / 1000);
  const gap = gapOf(seconds, form.gapS);
  const sourceAt = (second: number) => indexAt(Math.round(second / form.durationFactor));
  return {
    seconds,
    has: (key) => streams[key] !== undefined,
    valueAt(key, second) {
      const value = streams[key]?.[sourceAt(second)];
      if (value === undefined || (key === 'heartrate' && second >= gap.from && second < gap.to)) return null;
      return asMeasured(exercise, key, value, second);
    },
    hasRoute: streams.latlng !== undefined,
    positionAt: (second) => positionBetween(streams.latlng, sourceAt, second),
  };
}

/** The index of the sample at each elapsed second; -1, which finds nothing, during a pause. */
function elapsedIndex(time: readonly number[]): (second: number) => number {
  const indexes = new Int32Array(time.at(-1)! + 1).fill(-1);
  time.forEach((second, index) => (indexes[second] = index));
  return (second) => indexes[second] ?? -1;
}

function gapOf(seconds: number, gapS: number): { from: number; to: number } {
  const from = Math.floor((seconds - gapS) / 2);
  return { from, to: from + gapS };
}

const TWIN_ALTITUDE_M = 6;

/** A second watch measures a little more or less distance, pulse and height. */
function asMeasured({ id, form }: PolarExercise, key: Series, value: number, second: number): number {
  if (!form.isTwin) return value;
  switch (key) {
    case 'distance':
      return value * form.distanceFactor;
    case 'velocity_smooth':
      return (value * form.distanceFactor) / form.durationFactor;
    case 'heartrate':
      return value + Math.round(2 * Math.sin(second / 37 + 6 * chanceOf(id, 'pulse')));
    case 'altitude':
      return value + TWIN_ALTITUDE_M * (2 * chanceOf(id, 'altitude') - 1);
    case 'cadence':
    case 'watts':
    case 'temp':
      return value;
  }
}

function positionBetween(
  latlng: readonly LatLng[] | undefined,
  sourceAt: (second: number) => number,
  second: number,
): LatLng | null {
  const before = latlng?.[sourceAt(Math.floor(second))];
  const after = latlng?.[sourceAt(Math.ceil(second))];
  if (!before || !after) return null;
  const share = second - Math.floor(second);
  const between = (at: 0 | 1) => before[at] + (after[at] - before[at]) * share;
  return [between(0), between(1)];
}
