import { type Clock } from './clock.js';
import { type Channel } from './channel.js';
import { nearest } from '../maths.js';

/** A sensor that leaves a warm house: two degrees less at the end than at the start. */
export function temperatureChannel(clock: Clock, averageC: number): Channel {
  const values = new Int32Array(clock.samples);
  for (let i = 0; i < values.length; i++) values[i] = nearest(averageC + 1 - (2 * i) / values.length);
  return { values, decimals: 0 };
}
