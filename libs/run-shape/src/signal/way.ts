import { cos, max, min, sqrt } from './maths.js';
import { type Recording } from '#streams';
import { type Axis } from './axis.js';
import { channelOf } from './channel.js';

/** How fast and how far, cell by cell. */
export interface Way {
  /** Metres a second, 0 while paused. */
  readonly speed: Float64Array;
  /** Metres at the beginning of each cell, and at the end of the last. */
  readonly metres: Float64Array;
}

/**
 * Speed from the device if it wrote one, else from distance, else from positions; distance the other way round.
 * Nothing is faster than `fastest`: what looks so is an error of the receiver. Undefined where none of them is there.
 */
export function wayOf(recording: Recording, axis: Axis, fastest: number): Way | undefined {
  const covered = coveredMetres(recording, axis, fastest);
  const own = channelOf(recording, 'velocity_smooth', axis);
  if (!covered && !own) return undefined;

  const speed = new Float64Array(axis.cells);
  const metres = new Float64Array(axis.cells + 1);
  for (let cell = 0; cell < axis.cells; cell++) {
    const byDistance = covered && covered[cell]! / axis.cellS;
    const byDevice = own && !axis.isGap[cell] ? own[cell]! : NaN;
    const wanted = Number.isNaN(byDevice) ? (byDistance ?? 0) : byDevice;
    speed[cell] = min(fastest, max(0, wanted));
    metres[cell + 1] = metres[cell]! + (covered ? covered[cell]! : speed[cell]! * axis.cellS);
  }
  return { speed, metres };
}

/** Metres covered in each cell. */
function coveredMetres(recording: Recording, axis: Axis, fastest: number): Float64Array | undefined {
  const steps = stepsByDistance(recording) ?? stepsByPosition(recording);
  if (!steps) return undefined;
  const time = recording.channels['time'] as readonly number[];
  const covered = new Float64Array(axis.cells);
  for (let cell = 0; cell < axis.cells; cell++) {
    const sample = axis.sampleOf[cell]!;
    const lasts = time[sample]! - time[sample - 1]!;
    const speed = steps[sample]! / lasts;
    const elapsed = axis.elapsedS[cell + 1]! - axis.elapsedS[cell]!;
    // A jump while paused or without reception is walked, driven or an error, but not run.
    covered[cell] = speed > fastest ? 0 : speed * elapsed;
  }
  return covered;
}

/** Metres since the sample before, from a channel of cumulated metres with holes. */
function stepsByDistance(recording: Recording): Float64Array | undefined {
  const distance = recording.channels['distance'];
  if (!distance || !distance.some((value) => typeof value === 'number')) return undefined;
  return stepsBetween(distance, (from, to) => max(0, (to as number) - (from as number)), recording);
}

function stepsByPosition(recording: Recording): Float64Array | undefined {
  const positions = recording.channels['latlng'];
  if (!positions || !positions.some((value) => value !== null)) return undefined;
  return stepsBetween(positions, (from, to) => metresBetween(from as Position, to as Position), recording);
}

/** Over a hole in the channel the metres are spread by time. */
function stepsBetween(
  samples: readonly unknown[],
  length: (from: unknown, to: unknown) => number,
  recording: Recording,
): Float64Array {
  const time = recording.channels['time'] as readonly number[];
  const steps = new Float64Array(samples.length);
  let known = -1;
  for (let i = 0; i < samples.length; i++) {
    if (samples[i] === null) continue;
    if (known >= 0) {
      const metres = length(samples[known], samples[i]);
      const seconds = time[i]! - time[known]!;
      for (let k = known + 1; k <= i; k++)
        steps[k] = seconds > 0 ? (metres * (time[k]! - time[k - 1]!)) / seconds : 0;
    }
    known = i;
  }
  return steps;
}

type Position = readonly [latitude: number, longitude: number];

const METRES_PER_DEGREE = 111_195;
const RADIANS_PER_DEGREE = Math.PI / 180;

/** Flat is exact enough from one second to the next. */
function metresBetween([fromLat, fromLng]: Position, [toLat, toLng]: Position): number {
  const north = (toLat - fromLat) * METRES_PER_DEGREE;
  const east = (toLng - fromLng) * METRES_PER_DEGREE * cos(fromLat * RADIANS_PER_DEGREE);
  return sqrt(north * north + east * east);
}
