import { type Recording } from '#streams';
import { type Axis } from './axis.js';

// Below this the channel is a sensor that dropped out rather than one that was worn.
const LEAST_SHARE = 0.5;

/** A channel on the axis; NaN where nothing was recorded. Undefined where it is absent or mostly empty. */
export function channelOf(recording: Recording, name: string, axis: Axis): Float64Array | undefined {
  const samples = recording.channels[name];
  if (!samples) return undefined;
  const values = new Float64Array(axis.cells).fill(NaN);
  let known = 0;
  let recorded = 0;
  for (let cell = 0; cell < axis.cells; cell++) {
    if (axis.isGap[cell]) continue;
    recorded++;
    const sample = samples[axis.sampleOf[cell]!];
    if (typeof sample !== 'number') continue;
    values[cell] = sample;
    known++;
  }
  return known > 0 && known >= LEAST_SHARE * recorded ? values : undefined;
}
