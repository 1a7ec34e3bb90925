import { type Activity } from './activity.js';
import { type Halt, haltsOf } from './halts.js';
import { fractionOf } from './random.js';
import { type Segment, segmentsOf } from './segments.js';
import { type SegmentKind } from './sessions.js';

type Motion = 'moving' | 'standing' | 'paused';

/** The smallest part of a plan. Target speed and power are constant within a step. */
export interface Step {
  readonly startS: number;
  readonly durationS: number;
  /** A `standing` step is recorded with velocity 0. A `paused` step leaves a gap in `time`. */
  readonly motion: Motion;
  readonly metres: number;
  readonly speed: number;
  readonly watts: number | null;
  readonly load: number;
  readonly kind: SegmentKind;
}

export interface Plan {
  readonly segments: readonly Segment[];
  readonly steps: readonly Step[];
  readonly metres: number;
  readonly movingS: number;
  readonly pausedS: number;
  readonly elapsedS: number;
}

/** The planned activity as steps, without noise. Its totals are exact. */
export function planOf(activity: Activity): Plan {
  const segments = segmentsOf(activity);
  return layOut(activity, segments, haltsOf(activity, segments));
}

function layOut(activity: Activity, segments: Segment[], halts: readonly Halt[]): Plan {
  const steps: Step[] = [];
  const standing: Motion = fractionOf(activity.seed, 'pauses recoveries') < 0.25 ? 'paused' : 'standing';
  let elapsedS = 0;
  let movingS = 0;
  let metres = 0;
  let pausedS = 0;
  let nextHalt = 0;

  const add = (segment: Segment, motion: Motion, durationS: number) => {
    if (durationS <= 0) return;
    const isMoving = motion === 'moving';
    const length = isMoving ? (segment.metres * durationS) / segment.movingS : 0;
    steps.push({
      startS: elapsedS,
      durationS,
      motion,
      metres: length,
      speed: isMoving ? segment.speed : 0,
      watts: isMoving || segment.watts === null ? segment.watts : 0,
      load: isMoving ? segment.load : 0,
      kind: segment.kind,
    });
    elapsedS += durationS;
    metres += length;
    if (isMoving) movingS += durationS;
    if (motion === 'paused') pausedS += durationS;
  };

  for (const segment of segments) {
    segment.startS = elapsedS;
    if (segment.movingS === 0) {
      add(segment, standing, segment.durationS);
      continue;
    }
    const endMovingS = movingS + segment.movingS;
    for (; nextHalt < halts.length; nextHalt++) {
      const halt = halts[nextHalt] as Halt;
      if (halt.afterMovingS >= endMovingS) break;
      add(segment, 'moving', halt.afterMovingS - movingS);
      add(segment, halt.paused ? 'paused' : 'standing', halt.seconds);
    }
    add(segment, 'moving', endMovingS - movingS);
    segment.durationS = elapsedS - segment.startS;
  }
  return { segments, steps, metres, movingS, pausedS, elapsedS };
}
