import { z } from 'zod';
import { maybe } from '../../capabilities/reading.js';
import { type RawStreams } from '../../capabilities/streams.js';
import { Duration } from './values.js';

// Polar's numbers of the sample types. 5 to 7 have no channel of ours, and RR intervals (11) have no grid.
const HEART_RATE = '0';
const SPEED = '1';
const CADENCE = '2';
const ALTITUDE = '3';
const POWER = '4';
const RUNNING_CADENCE = '8';
const TEMPERATURE = '9';
const DISTANCE = '10';
const USED = [HEART_RATE, SPEED, CADENCE, ALTITUDE, POWER, RUNNING_CADENCE, TEMPERATURE, DISTANCE];

// The check of a recording refuses more values. An odd pair of rates could make a grid that does not fit into memory.
const MOST_VALUES = 500_000;
const KMH_PER_M_S = 3.6;

const WireSample = z.object({
  'sample-type': z.union([z.string(), z.int()]).transform(String),
  'recording-rate': maybe(z.number()),
  data: maybe(z.string()),
});

const WirePoint = z.object({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  time: Duration,
});

const WireRecording = z.object({
  distance: maybe(z.number()),
  samples: maybe(z.array(WireSample)),
  route: maybe(z.array(z.unknown())),
});

type Values = ReadonlyArray<number | null>;

/** Value i belongs to second `i * rate` of the exercise. */
interface Series {
  readonly rate: number;
  readonly values: Values;
}

interface Point {
  readonly second: number;
  readonly position: readonly [latitude: number, longitude: number];
}

/**
 * The channels of an exercise, all on the grid of the type with the shortest interval. A value of a slower type is repeated until its next one.
 * A position is that of the nearest point of the route, which has times of its own. Empty for an exercise without samples and route. Throws a
 * ZodError.
 */
export function toStreams(json: unknown): RawStreams {
  const { samples, route, distance } = WireRecording.parse(json);
  const series = seriesOf(samples ?? []);
  const points = pointsOf(route ?? []);
  const time = series.size > 0 ? gridOf([...series.values()]) : points.map(({ second }) => second);
  if (time.length > MOST_VALUES) throw tooMany();
  if (time.length === 0) return {};
  const at = (type: string) => onGrid(series.get(type), time);
  const channels: Record<string, ReadonlyArray<unknown>> = {
    heartrate: at(HEART_RATE).map((value) => value || null),
    velocity_smooth: at(SPEED).map((value) => value && rounded(value / KMH_PER_M_S)),
    // Our runs count the steps of one foot.
    cadence: series.has(RUNNING_CADENCE)
      ? at(RUNNING_CADENCE).map((value) => value && value / 2)
      : at(CADENCE),
    altitude: at(ALTITUDE),
    watts: at(POWER),
    temp: at(TEMPERATURE),
    distance: onGrid(cumulative(series.get(DISTANCE), distance), time),
    latlng: positionsAt(points, time),
  };
  const recorded = Object.entries(channels).filter(([, values]) => values.some((value) => value !== null));
  return recorded.length > 0 ? { time, ...Object.fromEntries(recorded) } : {};
}

/** A type may be listed twice; the longer one counts. */
function seriesOf(samples: ReadonlyArray<z.output<typeof WireSample>>): ReadonlyMap<string, Series> {
  const found = new Map<string, Series>();
  for (const { 'sample-type': type, 'recording-rate': rate, data } of samples) {
    if (!USED.includes(type) || rate === null || rate <= 0 || !data) continue;
    const values = data.split(',').map(valueOf);
    if (values.length > (found.get(type)?.values.length ?? 0)) found.set(type, { rate, values });
  }
  return found;
}

/** `null` and an empty item: the sensor was off. */
function valueOf(item: string): number | null {
  const value = item.trim() === '' ? NaN : Number(item);
  return Number.isFinite(value) ? value : null;
}

function gridOf(series: readonly Series[]): number[] {
  const step = Math.min(...series.map(({ rate }) => rate));
  const last = Math.max(...series.map(({ rate, values }) => (values.length - 1) * rate));
  const length = Math.floor(last / step) + 1;
  if (length > MOST_VALUES) throw tooMany();
  return Array.from({ length }, (_, index) => index * step);
}

function onGrid(series: Series | undefined, time: readonly number[]): Values {
  return time.map((second) => series?.values[Math.floor(second / series.rate)] ?? null);
}

/**
 * Polar does not document whether a distance sample counts from the start or from the previous sample. The interpretation whose total is
 * nearer to the exercise's distance is used. Without that distance, samples that never fall count from the start.
 */
function cumulative(series: Series | undefined, distanceM: number | null): Series | undefined {
  if (!series) return undefined;
  const known = series.values.filter((value) => value !== null);
  const largest = known.reduce((one, other) => Math.max(one, other), 0);
  const sum = known.reduce((one, other) => one + other, 0);
  const isCumulative =
    distanceM === null
      ? known.every((value, index) => value >= (known[index - 1] ?? 0))
      : Math.abs(largest - distanceM) <= Math.abs(sum - distanceM);
  return { ...series, values: isCumulative ? rising(series.values) : summed(series.values) };
}

/** A sum that falls is a gap that Polar wrote as 0. */
function rising(values: Values): Values {
  let largest = 0;
  return values.map((value) => {
    if (value === null || value < largest) return null;
    largest = value;
    return value;
  });
}

function summed(values: Values): Values {
  let sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum += value;
    return rounded(sum);
  });
}

/** Points that cannot be read are left out. */
function pointsOf(route: readonly unknown[]): readonly Point[] {
  const points = route.flatMap((item) => {
    const { data } = WirePoint.safeParse(item);
    return data ? { second: data.time, position: [data.latitude, data.longitude] as const } : [];
  });
  return points.sort((one, other) => one.second - other.second);
}

/** Null further than one step from the nearest point, as in a pause. A step is the longer of the samples' and the route's interval. */
function positionsAt(points: readonly Point[], time: readonly number[]): ReadonlyArray<unknown> {
  const tolerance = Math.max(medianStep(time), medianStep(points.map(({ second }) => second)));
  let next = 0;
  return time.map((second) => {
    while (next < points.length && points[next]!.second < second) next += 1;
    const [before, after] = [points[next - 1], points[next]];
    const nearest = !before || (after && after.second - second < second - before.second) ? after : before;
    return nearest && Math.abs(nearest.second - second) <= tolerance ? nearest.position : null;
  });
}

function medianStep(times: readonly number[]): number {
  const steps = times.slice(1).map((time, index) => time - times[index]!);
  return steps.sort((one, other) => one - other)[Math.floor(steps.length / 2)] ?? 0;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function tooMany(): z.ZodError {
  const message = `more than ${MOST_VALUES} values`;
  return new z.ZodError([{ code: 'custom', path: ['samples'], message, input: undefined }]);
}
