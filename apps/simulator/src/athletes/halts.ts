import { type Activity, type WishedStop } from './activity.js';
import { floor, max, min, nearest } from './maths.js';
import { fractionOf } from './random.js';
import { type Segment } from './segments.js';

/** A stop in the middle of a segment: traffic light, tap, café. Standing recoveries are segments, not halts. */
export type Halt = WishedStop;

const MARGIN_S = 60;
const CAFE_FROM_S = 7200;

/** In the order in which they happen. */
export function haltsOf(activity: Activity, segments: readonly Segment[]): readonly Halt[] {
  const movingS = segments.reduce((sum, segment) => sum + segment.movingS, 0);
  if (activity.manual) return [];
  if (activity.wishes?.stops) return wishedHalts(activity.wishes.stops, movingS);
  const usual = usualSecondsBetween(activity);
  if (usual === null) return [];

  const { seed } = activity;
  const count = floor(movingS / usual + fractionOf(seed, 'halts'));
  const halts: Halt[] = [];
  for (let i = 0; i < count; i++) {
    // One in each of `count` equal stretches: they neither collide nor need sorting.
    const afterMovingS = floor(((i + 0.1 + 0.8 * fractionOf(seed, 'halt at', i)) * movingS) / count);
    if (!mayHaltAt(segments, afterMovingS)) continue;
    halts.push({
      afterMovingS,
      seconds: lengthOf(seed, i),
      paused: fractionOf(seed, 'halt paused', i) < 0.5,
    });
  }
  if (movingS >= CAFE_FROM_S && halts.length > 0) halts[halts.length >> 1] = cafe(seed, halts);
  return halts;
}

function wishedHalts(stops: readonly WishedStop[], movingS: number): Halt[] {
  return stops
    .map((stop) => ({
      ...stop,
      seconds: max(0, nearest(stop.seconds)),
      afterMovingS: min(movingS - 1, max(1, nearest(stop.afterMovingS))),
    }))
    .sort((a, b) => a.afterMovingS - b.afterMovingS);
}

function usualSecondsBetween(activity: Activity): number | null {
  const { session, sport } = activity;
  if (activity.indoor || session.venue || session.profile === 'race' || sport === 'WeightTraining')
    return null;
  if (activity.commute) return 300;
  return sport === 'Walk' || sport === 'Hike' ? 1800 : 2400;
}

/** Nobody plans a repetition across a traffic light. */
function mayHaltAt(segments: readonly Segment[], afterMovingS: number): boolean {
  let startS = 0;
  for (const { kind, movingS } of segments) {
    const endS = startS + movingS;
    if (afterMovingS < endS) {
      const isOpen = kind === 'steady' || kind === 'warmup' || kind === 'cooldown';
      return isOpen && afterMovingS >= startS + MARGIN_S && afterMovingS <= endS - MARGIN_S;
    }
    startS = endS;
  }
  return false;
}

function lengthOf(seed: number, index: number): number {
  return 8 + floor(45 * fractionOf(seed, 'halt length', index) ** 1.5);
}

function cafe(seed: number, halts: readonly Halt[]): Halt {
  const { afterMovingS } = halts[halts.length >> 1] as Halt;
  return { afterMovingS, seconds: 300 + floor(900 * fractionOf(seed, 'café')), paused: true };
}
