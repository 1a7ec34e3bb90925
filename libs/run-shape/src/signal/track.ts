import { ceil, median, min } from './maths.js';
import { type Recording } from '#streams';
import { fastestSpeed, type SportFamily } from '../sport.js';
import { type Axis, axisOf, channelOf } from './axis.js';
import { smoothed, withoutSpikes } from './smooth.js';
import { motionOf } from './motion.js';

/** A recording on an axis of equal cells. The value of a cell is NaN if the channel has none there. */
export interface Track extends Axis {
  readonly speed?: Float64Array;
  readonly metres?: Float64Array;
  /** 1 if the athlete stood still or the watch was paused. All 0 if there is neither speed nor distance. */
  readonly isStill: Uint8Array;
  readonly heartRate?: Float64Array;
  readonly watts?: Float64Array;
  readonly altitude?: Float64Array;
}

// The athlete stands below a fifth of the median speed, and at most at 0.6 m/s. So a walking break is no stop.
const STILL_SHARE = 0.2;
const STILL_MOST = 0.6;
const ALTITUDE_RADIUS_S = 8;

/** Undefined if no time passes in the recording. */
export function trackOf(recording: Recording, family: SportFamily): Track | undefined {
  const axis = axisOf(recording.channels['time'] as readonly number[]);
  if (!axis) return undefined;
  const motion = motionOf(recording, axis, fastestSpeed(family));
  const speed = motion && withoutSpikes(motion.speed);
  const altitude = channelOf(recording, 'altitude', axis);
  return {
    ...axis,
    speed,
    metres: motion?.metres,
    isStill: stillness(axis, speed),
    heartRate: plausible(channelOf(recording, 'heartrate', axis), 25, 250),
    watts: plausible(channelOf(recording, 'watts', axis), 0, 3_000),
    altitude: altitude && smoothed(altitude, ceil(ALTITUDE_RADIUS_S / axis.cellS)),
  };
}

function stillness(axis: Axis, speed: Float64Array | undefined): Uint8Array {
  const isStill = new Uint8Array(axis.cells);
  if (!speed) return isStill;
  const limit = min(STILL_MOST, STILL_SHARE * median(speed.filter((value) => value > 0.1)));
  for (let cell = 0; cell < axis.cells; cell++) isStill[cell] = speed[cell]! <= limit ? 1 : 0;
  return isStill;
}

function plausible(values: Float64Array | undefined, least: number, most: number): Float64Array | undefined {
  return values?.map((value) => (value >= least && value <= most ? value : NaN));
}
