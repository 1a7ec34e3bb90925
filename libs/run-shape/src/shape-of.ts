import { type Recording } from '#streams';
import { climbParts } from './find/climbs.js';
import { descriptionOf } from './describe/description.js';
import { repetitionsOf } from './describe/repetitions.js';
import { rounded } from './signal/maths.js';
import { segmentsOf } from './describe/segments.js';
import { titleOf } from './describe/title.js';
import { type ShapeFacts } from './facts.js';
import { analysisOf } from './find/analysis.js';
import { type RunShape } from './run-shape.js';
import { trackOf } from './signal/track.js';
import { familyOf } from './sport.js';
import { createHash } from 'node:crypto';

/** Raise this number with every change of the rules. A stored shape contains the version of its rules. */
const SHAPE_VERSION = 1;

type Found = Pick<RunShape, 'profile' | 'segments' | 'repetitions' | 'climbs' | 'heart_rate_drift_percent'>;

/** Computes the shape of an activity. `recording` is null if nothing was recorded. Equal input gives an equal shape and hash. */
export function shapeOf(recording: Recording | null, facts: ShapeFacts): RunShape {
  const found = (recording && foundIn(recording, facts)) ?? UNRECORDED;
  const input = { ...found, facts, drift: found.heart_rate_drift_percent };
  const shape = {
    version: SHAPE_VERSION,
    ...found,
    title: titleOf(input),
    description: descriptionOf(input),
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

function foundIn(recording: Recording, facts: ShapeFacts): Found | undefined {
  const family = familyOf(facts.sport_type);
  const track = trackOf(recording, family);
  if (!track) return undefined;
  const plan = analysisOf(track, facts);
  return {
    profile: plan.profile,
    segments: segmentsOf(track, plan),
    repetitions: repetitionsOf(track, plan, family),
    climbs: climbParts(track, plan.climbs),
    heart_rate_drift_percent: plan.drift === undefined ? null : rounded(plan.drift, 1),
  };
}

/** The hash does not depend on the order of keys. */
function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
