import { type Activity } from '../activity.js';
import { nearest } from '../maths.js';
import { Drifting, randomFor } from '../random.js';
import { cadenceAt, isRide } from '../sport-model.js';
import { type Clock } from './clock.js';
import { type Channel } from './channel.js';

/** Follows the speed; 0 while standing and coasting. */
export function cadenceChannel(
  activity: Activity,
  clock: Clock,
  speed: Float64Array,
  coasting: Uint8Array,
): Channel {
  const wobble = new Drifting(randomFor(activity.seed, 'cadence'), 6, isRide(activity.sport) ? 3 : 0.9);
  const values = new Int32Array(clock.samples);
  for (let i = 0; i < values.length; i++) {
    const offset = wobble.next();
    const isTurning = clock.moving[i] === 1 && coasting[i] === 0;
    values[i] = isTurning ? nearest(cadenceAt(activity.sport, speed[i]!) + offset) : 0;
  }
  return { values, decimals: 0 };
}
