import { type Activity } from './activity.js';
import { max, nearest } from './maths.js';
import { fractionOf } from './random.js';
import { type Block, type SegmentKind, isRepeats } from './sessions.js';
import { outputOf } from './sport-model.js';

/** A part of a workout with one purpose, on the axis of elapsed seconds. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly repetition: number | null;
  startS: number;
  /** Includes the stops inside the segment. */
  durationS: number;
  /** 0 for a standing recovery. */
  readonly movingS: number;
  readonly metres: number;
  /** Mean speed in motion; 0 when standing. */
  readonly speed: number;
  readonly watts: number | null;
  readonly load: number;
}

export function segmentsOf(activity: Activity): Segment[] {
  const segments: Segment[] = [];
  for (const part of activity.session.parts) {
    if (!isRepeats(part)) {
      segments.push(segmentOf(activity, part, null, segments));
      continue;
    }
    for (let i = 0; i < part.works.length; i++) {
      segments.push(segmentOf(activity, part.works[i] as Block, i + 1, segments));
      const isLast = i === part.works.length - 1;
      if (!isLast) segments.push(segmentOf(activity, part.recovery, i + 1, segments));
    }
  }
  return segments;
}

function segmentOf(activity: Activity, block: Block, repetition: number | null, before: Segment[]): Segment {
  const effort = block.effort * dayForm(activity.seed, block, repetition);
  const output = outputOf(activity.sport, activity.athlete, activity.form, effort);
  const asked = block.backDown ? before[before.length - 1]?.metres : block.metres;
  const metres = output.speed > 0 ? asked : undefined;
  const stretch = block.open ? activity.amount : 1;
  const paced = metres === undefined ? (block.seconds ?? 0) : (block.seconds ?? metres / output.speed);
  const seconds = max(1, nearest(paced * stretch));
  const isStanding = block.effort <= 0;
  const distance = metres === undefined ? output.speed * seconds : metres * stretch;
  return {
    kind: block.kind,
    repetition,
    startS: 0,
    durationS: seconds,
    movingS: isStanding ? 0 : seconds,
    metres: distance,
    speed: distance / seconds,
    watts: output.watts,
    load: block.load ?? block.effort,
  };
}

/** Factor on a repetition's effort: 1 ± 1.5 %. */
function dayForm(seed: number, block: Block, repetition: number | null): number {
  if (repetition === null || block.kind === 'recovery') return 1;
  return 1 + 0.03 * (fractionOf(seed, 'repetition', repetition) - 0.5);
}
