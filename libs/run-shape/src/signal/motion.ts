import { cos, max, min, sqrt } from './maths.js';
import { type Recording } from '#streams';
import { type Axis, channelOf } from './axis.js';

/** Speed and distance of each cell. */
interface Motion {
  /** Metres per second, 0 while paused. */
  readonly speed: Float64Array;
  /** Metres at the beginning of each cell. The last value is at the end of the last cell. */
  readonly metres: Float64Array;
}

/**
 * Speed comes from the device, else from distance, else from positions. Distance comes from its channel, else from positions,
 * else from speed. A speed above `fastest` is an error of the receiver: speed is limited to `fastest`, and the distance of such
 * a cell is 0. Undefined if all three channels are absent.
 */
export function motionOf(recording: Recording, axis: Axis, fastest: number): Motion | undefined {
  const covered = coveredMetres(recording, axis, fastest);
  const own = channelOf(recording, 'velocity_smooth', axis);
  if (!covered && !own) return undefined;

  const speed = new Float64Array(axis.cells);
  const metres = new Float64Array(axis.cells + 1);
  for (let cell = 0; cell < axis.cells; cell++) {
    const byDistance = covered && covered[cell]! / axis.cellS;
    const byDevice = own && !axis.isGap[cell] ? own[cell]! : NaN;
    const value = Number.isNaN(byDevice) ? (byDistance ?? 0) : byDevice;
    speed[cell] = min(fastest, max(0, value));
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
    // A jump during a pause or without reception is a drive or an error. So it adds no distance.
    covered[cell] = speed > fastest ? 0 : speed * elapsed;
  }
  return covered;
}

/** Metres since the previous sample, from a cumulative channel with gaps. */
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

/** Spreads the metres across a gap in the channel evenly over the time of the gap. */
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

/** Distance on a plane. This is exact enough between neighbouring samples. */
function metresBetween([fromLat, fromLng]: Position, [toLat, toLng]: Position): number {
  const north = (toLat - fromLat) * METRES_PER_DEGREE;
  const east = (toLng - fromLng) * METRES_PER_DEGREE * cos(fromLat * RADIANS_PER_DEGREE);
  return sqrt(north * north + east * east);
}
