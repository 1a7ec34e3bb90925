import { type Effort } from '../signal/effort.js';
import { ceil, mean, spread } from '../signal/maths.js';
import { type Track } from '../signal/track.js';
import { AT_REST } from './even-run.js';
import { type Bout } from './hard-parts.js';

// The heart rate takes some minutes to follow the effort.
const SETTLES_S = 300;
const SHORTEST_S = 20 * 60;
const FEWEST_REPETITIONS = 4;
const ALIKE = 0.1;

/**
 * Rise of the heart rate for the same effort from the first to the second half, in percent. For one even part, the first five
 * minutes are left out and the two halves of the rest are compared. For repetitions, the later repetitions are compared with
 * the earlier repetitions, by the second half of each repetition. Undefined without heart rate, for an even part of less than
 * 25 minutes, for two or three repetitions, and for repetitions of different lengths (a ladder).
 */
export function heartRateDrift(track: Track, effort: Effort, bouts: readonly Bout[]): number | undefined {
  if (!track.heartRate) return undefined;
  if (bouts.length > 1) return acrossRepetitions(track, effort, bouts);
  const whole = bouts[0] ?? { from: 0, to: track.cells };
  const from = whole.from + ceil(SETTLES_S / track.cellS);
  if ((whole.to - from) * track.cellS < SHORTEST_S) return undefined;
  const middle = (from + whole.to) >> 1;
  const before = averagesOf(track, effort, [{ from, to: middle }]);
  return driftBetween(before, averagesOf(track, effort, [{ from: middle, to: whole.to }]));
}

function acrossRepetitions(track: Track, effort: Effort, bouts: readonly Bout[]): number | undefined {
  if (bouts.length < FEWEST_REPETITIONS || spread(bouts.map(({ from, to }) => to - from)) > ALIKE)
    return undefined;
  const ends = bouts.map(({ from, to }) => ({ from: (from + to) >> 1, to }));
  const half = bouts.length >> 1;
  return driftBetween(
    averagesOf(track, effort, ends.slice(0, half)),
    averagesOf(track, effort, ends.slice(-half)),
  );
}

/** Mean heart rate and mean effort of some parts. */
interface Averages {
  readonly beat: number;
  readonly effort: number;
}

function averagesOf({ heartRate, isStill }: Track, { values }: Effort, parts: readonly Bout[]): Averages {
  const beats: number[] = [];
  const efforts: number[] = [];
  for (const { from, to } of parts)
    for (let cell = from; cell < to; cell++) {
      const beat = heartRate![cell]!;
      const value = values[cell]!;
      if (isStill[cell] || Number.isNaN(beat) || Number.isNaN(value)) continue;
      beats.push(beat);
      efforts.push(value);
    }
  return { beat: mean(beats), effort: mean(efforts) };
}

/** Assumes that the heart rate above rest is proportional to the effort. So a faster second half alone is no drift. */
function driftBetween(before: Averages, after: Averages): number | undefined {
  const expected = AT_REST + (before.beat - AT_REST) * (after.effort / before.effort);
  const drift = 100 * ((after.beat - expected) / before.beat);
  return Number.isFinite(drift) ? drift : undefined;
}
