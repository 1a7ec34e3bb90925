import { type Activity, type RequestedStop } from './activity.js';
import { floor, max, min, nearest } from './maths.js';
import { fractionOf } from './random.js';
import { type Segment } from './segments.js';

/** A stop inside a segment, such as a traffic light, a tap or a café. A standing recovery is a segment and not a halt. */
export type Halt = RequestedStop;

const MARGIN_S = 60;
const CAFE_FROM_S = 7200;

/** The stops of an activity, in order. */
export function haltsOf(activity: Activity, segments: readonly Segment[]): readonly Halt[] {
  const movingS = segments.reduce((sum, segment) => sum + segment.movingS, 0);
  if (activity.manual) return [];
  if (activity.wishes?.stops) return requestedHalts(activity.wishes.stops, movingS);
  const usual = usualSecondsBetween(activity);
  if (usual === null) return [];

  const { seed } = activity;
  const count = floor(movingS / usual + fractionOf(seed, 'halts'));
  const halts: Halt[] = [];
  for (let i = 0; i < count; i++) {
    // Each of `count` equal stretches has one halt at most. So halts are sorted and do not overlap.
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

function requestedHalts(stops: readonly RequestedStop[], movingS: number): Halt[] {
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

/** True at least a minute from the ends of a warm-up, steady part or cool-down. False in work and recoveries. */
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
