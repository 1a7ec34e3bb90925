import { type Recording } from '#streams';
import { climbParts } from './describe/climb-parts.js';
import { descriptionOf } from './describe/description.js';
import { repetitionsOf } from './describe/repetitions.js';
import { rounded } from './describe/rounding.js';
import { segmentsOf } from './describe/segments.js';
import { titleOf } from './describe/title.js';
import { type Facts } from './facts.js';
import { planOf } from './find/plan.js';
import { hashOf } from './hash.js';
import { type RunShape } from './run-shape.js';
import { trackOf } from './signal/track.js';
import { familyOf } from './sport.js';

/** Rises with every change of the rules, so that a shape says by which it was found. */
export const SHAPE_VERSION = 1;

type Found = Pick<RunShape, 'profile' | 'segments' | 'repetitions' | 'climbs' | 'heart_rate_drift_percent'>;

/** What an activity was. Null: nothing was recorded. The same input always has the same shape. */
export function shapeOf(recording: Recording | null, facts: Facts): RunShape {
  const found = (recording && foundIn(recording, facts)) ?? UNRECORDED;
  const told = { ...found, facts, drift: found.heart_rate_drift_percent };
  const shape = {
    version: SHAPE_VERSION,
    ...found,
    title: titleOf(told),
    description: descriptionOf(told),
  };
  return { ...shape, hash: hashOf(shape) };
}

const UNRECORDED: Found = {
  profile: 'unrecorded',
  segments: [],
  repetitions: null,
  climbs: [],
  heart_rate_drift_percent: null,
};

function foundIn(recording: Recording, facts: Facts): Found | undefined {
  const family = familyOf(facts.sport_type);
  const track = trackOf(recording, family);
  if (!track) return undefined;
  const plan = planOf(track, facts);
  return {
    profile: plan.profile,
    segments: segmentsOf(track, plan),
    repetitions: repetitionsOf(track, plan, family),
    climbs: climbParts(track, plan.climbs),
    heart_rate_drift_percent: plan.drift === undefined ? null : rounded(plan.drift, 1),
  };
}
