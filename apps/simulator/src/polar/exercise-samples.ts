import { type z } from 'zod';
import { isoDuration } from './iso-duration.js';
import { type PolarExercise } from './exercise-log.js';
import { type PolarHabits } from './polar-facts.js';
import { type Recording, type Series } from './recording.js';
import { isOnFoot } from './sports.js';

type Habits = z.infer<typeof PolarHabits>;

interface Sample {
  'recording-rate': number | null;
  'sample-type': string;
  data: string;
}

interface SampleType {
  readonly type: string;
  readonly valueAt: (second: number) => number | null;
}

/** One comma string per type, on the grid that its rate implies. RR intervals have no grid. */
export function samplesOf(exercise: PolarExercise, recording: Recording, habits: Habits): Sample[] {
  const samples = typesOf(exercise, recording).map(({ type, valueAt }): Sample => {
    const rate = exercise.form.rates[type] ?? exercise.form.rate;
    const values = gridOf(recording.seconds, rate, habits.first_sample).map((second) =>
      type === DISTANCE && habits.distance_samples === 'per_sample'
        ? covered(valueAt, second, rate)
        : valueAt(second),
    );
    return { 'recording-rate': rate, 'sample-type': type, data: dataOf(values, habits.gap) };
  });
  if (exercise.form.hasRr && recording.has('heartrate')) samples.push(rrOf(recording, habits));
  const repeated = samples.find((sample) => sample['sample-type'] === habits.repeated_sample_type);
  return repeated ? [...samples, repeated] : samples;
}

const DISTANCE = '10';

/** 0 heart rate, 1 speed in km/h, 2 cadence of a ride, 8 steps a minute, 3 altitude, 4 power, 9 temperature, 10 distance. */
function typesOf({ activity }: PolarExercise, recording: Recording): SampleType[] {
  const onFoot = isOnFoot(activity);
  const types: { type: string; key: Series; decimals: number; factor: number }[] = [
    { type: '0', key: 'heartrate', decimals: 0, factor: 1 },
    { type: '1', key: 'velocity_smooth', decimals: 1, factor: 3.6 },
    { type: '3', key: 'altitude', decimals: 1, factor: 1 },
    { type: '4', key: 'watts', decimals: 0, factor: 1 },
    // The generator counts the steps of one foot.
    onFoot
      ? { type: '8', key: 'cadence', decimals: 0, factor: 2 }
      : { type: '2', key: 'cadence', decimals: 0, factor: 1 },
    { type: '9', key: 'temp', decimals: 1, factor: 1 },
    { type: DISTANCE, key: 'distance', decimals: 1, factor: 1 },
  ];
  return types
    .filter(({ key }) => recording.has(key))
    .map(({ type, key, decimals, factor }) => ({
      type,
      valueAt: (second: number) => {
        const value = recording.valueAt(key, second);
        return value === null ? null : rounded(value * factor, decimals);
      },
    }));
}

function gridOf(seconds: number, rate: number, first: Habits['first_sample']): number[] {
  const from = first === 'at_start' ? 0 : rate;
  return Array.from({ length: Math.floor((seconds - from) / rate) + 1 }, (_, index) => from + index * rate);
}

function covered(distanceAt: SampleType['valueAt'], second: number, rate: number): number | null {
  const [now, before] = [distanceAt(second), second < rate ? 0 : distanceAt(second - rate)];
  return now === null || before === null ? null : rounded(now - before, 1);
}

/** Each interval is the time of one beat at the present heart rate; a gap is one null. */
function rrOf(recording: Recording, habits: Habits): Sample {
  const intervals: (number | null)[] = [];
  for (let second = 0; second <= recording.seconds;) {
    const bpm = recording.valueAt('heartrate', Math.floor(second));
    const intervalMs = bpm ? Math.round(60_000 / bpm) : null;
    if (intervalMs !== null || intervals.at(-1) !== null) intervals.push(intervalMs);
    second += intervalMs === null ? 1 : intervalMs / 1000;
  }
  return {
    'recording-rate': habits.rr_recording_rate,
    'sample-type': '11',
    data: dataOf(intervals, habits.gap),
  };
}

function dataOf(values: readonly (number | null)[], gap: Habits['gap']): string {
  const missing = { null: 'null', empty: '', zero: '0' }[gap];
  return values.map((value) => value ?? missing).join(',');
}

const ROUTE_STEP_S = 2;
const ROUTE_OFFSET_S = 0.026;
const SATELLITES = 9;

/** Points on a grid of their own, a fraction of a second beside the samples. There are none during a pause. */
export function routeOf(recording: Recording) {
  const count = Math.floor((recording.seconds - ROUTE_OFFSET_S) / ROUTE_STEP_S) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => index * ROUTE_STEP_S + ROUTE_OFFSET_S)
    .map((second) => ({ second, position: recording.positionAt(second) }))
    .flatMap(({ second, position }) =>
      position === null
        ? []
        : {
            latitude: rounded(position[0], 8),
            longitude: rounded(position[1], 8),
            time: isoDuration(second * 1000, true),
            satellites: SATELLITES,
            fix: 1,
          },
    );
}

const ZONE_SHARES = [0.5, 0.6, 0.7, 0.8, 0.9, 1];

export function zonesOf({ activity }: PolarExercise, recording: Recording) {
  const limits = ZONE_SHARES.map((share) => Math.round(share * activity.athlete.maxHeartRate));
  const seconds = ZONE_SHARES.slice(1).map(() => 0);
  for (let second = 0; second < recording.seconds; second++) {
    const bpm = recording.valueAt('heartrate', second);
    const zone = bpm === null ? -1 : limits.findLastIndex((limit) => bpm >= limit);
    if (zone >= 0) seconds[Math.min(zone, seconds.length - 1)]! += 1;
  }
  return seconds.map((inZone, index) => ({
    index: index + 1,
    'lower-limit': limits[index]!,
    'upper-limit': limits[index + 1]!,
    'in-zone': isoDuration(inZone * 1000),
  }));
}

export function rounded(value: number, decimals: number): number {
  const unit = 10 ** decimals;
  // Adding 0 turns -0 into 0.
  return Math.round(value * unit) / unit + 0;
}
