import { ceil, min } from './maths.js';
import { type Recording } from '#streams';
import { fastestSpeed, type SportFamily } from '../sport.js';
import { type Axis, axisOf } from './axis.js';
import { channelOf } from './channel.js';
import { smoothed, withoutSpikes } from './smooth.js';
import { median } from './statistics.js';
import { wayOf } from './way.js';

/** A recording made even: every second has its values, whatever the device left out. */
export interface Track extends Axis {
  readonly speed?: Float64Array;
  readonly metres?: Float64Array;
  /** 1 where the athlete stood still or the watch was paused; nowhere if there is neither speed nor distance. */
  readonly isStill: Uint8Array;
  readonly heartRate?: Float64Array;
  readonly watts?: Float64Array;
  readonly altitude?: Float64Array;
}

// A walking break is slower than a run, but no stop: that is a fifth of the usual pace, and never more than a shuffle.
const STILL_SHARE = 0.2;
const STILL_MOST = 0.6;
const ALTITUDE_RADIUS_S = 8;

/** Undefined where no time passes. */
export function trackOf(recording: Recording, family: SportFamily): Track | undefined {
  const axis = axisOf(recording.channels['time'] as readonly number[]);
  if (!axis) return undefined;
  const way = wayOf(recording, axis, fastestSpeed(family));
  const speed = way && withoutSpikes(way.speed);
  const altitude = channelOf(recording, 'altitude', axis);
  return {
    ...axis,
    speed,
    metres: way?.metres,
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
