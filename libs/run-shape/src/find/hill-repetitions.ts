import { abs, median } from '../signal/maths.js';
import { type Bout } from './hard-parts.js';
import { type Climb } from './climbs.js';
import { type Track } from '../signal/track.js';

const FEWEST = 3;
const LEAST_GRADE = 0.03;
// Repetitions of one hill differ by the turning points of the runner. The hills of a round course differ more.
const GAIN_TOLERANCE = 0.35;
const FOOT_TOLERANCE = 0.5;
const LENGTH_TOLERANCE = 0.4;
// On a round course a runner is slower uphill than downhill. In hill repetitions a runner is faster uphill.
const UP_TO_DOWN = 1;

/** At least three repetitions of the same hill by a runner who is at least as fast uphill as downhill; otherwise empty. */
export function hillRepetitions(track: Track, climbs: readonly Climb[]): Bout[] {
  const { altitude, metres } = track;
  if (!altitude || !metres) return [];
  const longest = alikeInARow(track, climbs);
  if (longest.length < FEWEST) return [];
  const feet = median(longest.slice(1).map(({ from }) => altitude[from]!));
  const fromFoot = longest.map((climb) => ({ from: lastBelow(altitude, climb, feet), to: climb.to }));
  const bouts = equallyLong(fromFoot, metres);
  return bouts.length >= FEWEST && isFasterUp(track, bouts) ? bouts : [];
}

/** The longest series of neighbouring climbs with similar top and gain. */
function alikeInARow({ altitude }: Track, climbs: readonly Climb[]): readonly Climb[] {
  let best: readonly Climb[] = [];
  for (let at = 0; at < climbs.length; at++) {
    const model = climbs[at]!;
    if (model.gainM / model.lengthM < LEAST_GRADE) continue;
    let first = at;
    let end = at + 1;
    while (first > 0 && resembles(altitude!, climbs[first - 1]!, model)) first--;
    while (end < climbs.length && resembles(altitude!, climbs[end]!, model)) end++;
    if (end - first > best.length) best = climbs.slice(first, end);
    // Every other climb of this series would give the same series again.
    if (end - first >= FEWEST) at = end - 1;
  }
  return best;
}

/** True if the tops and gains are similar. The foot may be lower than the model's, since the way to the hill may climb. */
function resembles(altitude: Float64Array, climb: Climb, model: Climb): boolean {
  const gain = model.gainM;
  const top = abs(altitude[climb.to]! - altitude[model.to]!);
  const foot = altitude[climb.from]! - altitude[model.from]!;
  return (
    top <= GAIN_TOLERANCE * gain &&
    foot <= FOOT_TOLERANCE * gain &&
    climb.gainM >= (1 - GAIN_TOLERANCE) * gain
  );
}

function lastBelow(altitude: Float64Array, { from, to }: Climb, height: number): number {
  for (let cell = to; cell > from; cell--) if (altitude[cell]! <= height) return cell;
  return from;
}

/** Drops climbs of another length. The way to the hill may have the same gain over a longer distance. */
function equallyLong(bouts: readonly Bout[], metres: Float64Array): Bout[] {
  const length = ({ from, to }: Bout) => metres[to]! - metres[from]!;
  const usual = median(bouts.map(length));
  return bouts.filter((bout) => abs(length(bout) - usual) <= LENGTH_TOLERANCE * usual);
}

function isFasterUp({ metres, elapsedS }: Track, bouts: readonly Bout[]): boolean {
  let upM = 0;
  let upS = 0;
  let downM = 0;
  let downS = 0;
  bouts.forEach(({ from, to }, index) => {
    upM += metres![to]! - metres![from]!;
    upS += elapsedS[to]! - elapsedS[from]!;
    const next = bouts[index + 1];
    if (!next) return;
    downM += metres![next.from]! - metres![to]!;
    downS += elapsedS[next.from]! - elapsedS[to]!;
  });
  return upM * downS >= UP_TO_DOWN * downM * upS;
}
