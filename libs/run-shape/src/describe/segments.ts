import { type Analysis } from '../find/analysis.js';
import { type Stretch } from '../find/stretches.js';
import { type Segment, type SegmentKind } from '../run-shape.js';
import { type Track } from '../signal/track.js';
import { rounded } from '../signal/maths.js';
import { factsOfStretch } from './stretch-facts.js';

interface Piece {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
  readonly repetition: number | null;
}

// If two neighbouring levels of a progression differ by less than this, they become one segment.
const SAME_LEVEL = 0.04;

export function segmentsOf(track: Track, plan: Analysis): Segment[] {
  return piecesOf(track, plan)
    .filter(({ from, to }) => to > from)
    .map((piece) => toSegment(track, piece));
}

function piecesOf(track: Track, plan: Analysis): Piece[] {
  if (plan.bouts.length > 0) return aroundBouts(track, plan);
  if (plan.steps.length > 0) return stepsOf(track, plan.steps);
  return [{ kind: 'steady', from: 0, to: track.cells, repetition: null }];
}

/** Warm-up, then work and recovery by turns, then cool-down. A single block has no repetition number. */
function aroundBouts(track: Track, { bouts, profile }: Analysis): Piece[] {
  const kind = profile === 'hills' ? 'climb' : 'work';
  const numberOf = (index: number) => (bouts.length > 1 ? index + 1 : null);
  const pieces: Piece[] = [{ kind: 'warmup', from: 0, to: bouts[0]!.from, repetition: null }];
  bouts.forEach(({ from, to }, index) => {
    pieces.push({ kind, from, to, repetition: numberOf(index) });
    const next = bouts[index + 1];
    if (next) pieces.push({ kind: 'recovery', from: to, to: next.from, repetition: numberOf(index) });
  });
  const end = bouts[bouts.length - 1]!.to;
  return [...pieces, { kind: 'cooldown', from: end, to: track.cells, repetition: null }];
}

function stepsOf(track: Track, stretches: readonly Stretch[]): Piece[] {
  const moving = stretches.filter(({ isStop }) => !isStop);
  const starts = moving.filter(
    ({ level }, index) => index > 0 && Math.abs(level - moving[index - 1]!.level) >= SAME_LEVEL,
  );
  const edges = [0, ...starts.map(({ from }) => from), track.cells];
  return edges.slice(1).map((to, index) => ({ kind: 'steady', from: edges[index]!, to, repetition: null }));
}

function toSegment(track: Track, { kind, from, to, repetition }: Piece): Segment {
  const facts = factsOfStretch(track, from, to);
  return {
    kind,
    from_s: facts.fromS,
    to_s: facts.toS,
    moving_s: rounded(facts.movingS, 1),
    distance_m: orNull(facts.metres, 1),
    average_pace_s_per_km: orNull(facts.paceSPerKm, 1),
    average_heartrate: orNull(facts.heartRate, 1),
    average_watts: orNull(facts.watts, 0),
    repetition,
  };
}

function orNull(value: number | null, decimals: number): number | null {
  return value === null ? null : rounded(value, decimals);
}
