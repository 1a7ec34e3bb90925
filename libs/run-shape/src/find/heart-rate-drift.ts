import { type Effort } from '../signal/effort.js';
import { ceil } from '../signal/maths.js';
import { mean, spread } from '../signal/statistics.js';
import { type Track } from '../signal/track.js';
import { AT_REST } from '../intensity.js';
import { type Bout } from './bout.js';

// The heart takes some minutes to arrive at what an effort asks for.
const SETTLES_S = 300;
const SHORTEST_S = 20 * 60;
const FEWEST_REPETITIONS = 4;
const ALIKE = 0.1;

/**
 * By how many percent the heart beats faster for the same effort in the second half. Of repetitions the later half of
 * each is compared, of one even part its two halves. Undefined where effort or heart is unknown, where it was too
 * short, and on a ladder, whose rungs ask different things of the heart.
 */
export function heartRateDrift(track: Track, effort: Effort, bouts: readonly Bout[]): number | undefined {
  if (!track.heartRate) return undefined;
  if (bouts.length > 1) return acrossRepetitions(track, effort, bouts);
  const whole = bouts[0] ?? { from: 0, to: track.cells };
  const from = whole.from + ceil(SETTLES_S / track.cellS);
  if ((whole.to - from) * track.cellS < SHORTEST_S) return undefined;
  const middle = (from + whole.to) >> 1;
  const before = answerOf(track, effort, [{ from, to: middle }]);
  return rise(before, answerOf(track, effort, [{ from: middle, to: whole.to }]));
}

function acrossRepetitions(track: Track, effort: Effort, bouts: readonly Bout[]): number | undefined {
  if (bouts.length < FEWEST_REPETITIONS || spread(bouts.map(({ from, to }) => to - from)) > ALIKE)
    return undefined;
  const ends = bouts.map(({ from, to }) => ({ from: (from + to) >> 1, to }));
  const half = bouts.length >> 1;
  return rise(answerOf(track, effort, ends.slice(0, half)), answerOf(track, effort, ends.slice(-half)));
}

/** What the heart did, and what for. */
interface Answer {
  readonly beat: number;
  readonly effort: number;
}

function answerOf({ heartRate, isStill }: Track, { values }: Effort, parts: readonly Bout[]): Answer {
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

/** What the heart does above rest is taken to follow the effort: a little faster is no drift. */
function rise(before: Answer, after: Answer): number | undefined {
  const expected = AT_REST + (before.beat - AT_REST) * (after.effort / before.effort);
  const drift = 100 * ((after.beat - expected) / before.beat);
  return Number.isFinite(drift) ? drift : undefined;
}
