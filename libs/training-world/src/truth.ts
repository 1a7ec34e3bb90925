import { type Activity } from './activity.js';
import { type StravaSport } from './sport-type.js';
import { hasChannel, missingChannels } from './channels.js';
import { driftPercentOf } from './heart-rate.js';
import { type Step, planOf } from './plan.js';
import { round } from './maths.js';
import { type Segment } from './segments.js';
import { type Profile, type SegmentKind, isRepeats } from './sessions.js';
import { type StreamKey } from './stream-keys.js';

/** The shape that is visible in the pace curve alone. */
type Shape = 'even' | 'progression' | 'block' | 'repetitions' | 'none';

/** Seconds count from the start, stops included, as in the `time` stream. */
interface TruthSegment {
  kind: SegmentKind;
  start_s: number;
  duration_s: number;
  /** Seconds in motion: `duration_s` without the stops inside. */
  moving_s: number;
  distance_m: number;
  /** Null if the athlete stands. Null for strength training, which has no pace. */
  target_pace_s_per_km: number | null;
  /** Null for every sport except rides. */
  target_power_w: number | null;
  /** 1 for the first repetition. A recovery has the number of the previous repetition. */
  repetition: number | null;
}

interface TruthStop {
  at_s: number;
  seconds: number;
  /** True: the stop has no samples, and `time` jumps. False: the samples have velocity 0 and moving false. */
  paused: boolean;
}

/** The planned workout. A processor should find the same workout in the recording. */
export interface Truth {
  profile: Profile;
  shape: Shape;
  session: string;
  sport_type: StravaSport;
  manual: boolean;
  indoor: boolean;
  segments: TruthSegment[];
  repetitions: number;
  /** Null without repetitions, for repetitions that are planned by time, and for a ladder. */
  repetition_distance_m: number | null;
  repetition_duration_s: number | null;
  distance_m: number;
  moving_time_s: number;
  elapsed_time_s: number;
  stops: TruthStop[];
  /** Rise of the heart rate from the first to the second half at equal effort, in percent. Null without a sensor. */
  heart_rate_drift_percent: number | null;
  missing_channels: StreamKey[];
}

export function truthOf(activity: Activity): Truth {
  const plan = planOf(activity);
  const segments = activity.manual ? [] : plan.segments.map(toTruth);
  const works = activity.manual ? [] : plan.segments.filter(isRepetition);
  return {
    profile: activity.manual ? 'manual' : activity.session.profile,
    shape: activity.manual ? 'none' : shapeOf(activity.session.profile),
    session: activity.session.name,
    sport_type: activity.namedSport ?? activity.sport,
    manual: activity.manual,
    indoor: activity.indoor,
    segments,
    repetitions: works.length,
    repetition_distance_m: plannedAlike(activity, works, 'metres'),
    repetition_duration_s: plannedAlike(activity, works, 'seconds'),
    distance_m: round(plan.metres, 1),
    moving_time_s: plan.movingS,
    elapsed_time_s: plan.elapsedS,
    stops: plan.steps.filter((step) => step.motion !== 'moving').map(toStop),
    heart_rate_drift_percent: hasChannel(activity, 'heartrate') ? driftPercentOf(activity, plan) : null,
    missing_channels: missingChannels(activity),
  };
}

function toTruth(segment: Segment): TruthSegment {
  const { kind, startS, durationS, movingS, metres, speed, watts, repetition } = segment;
  return {
    kind,
    start_s: startS,
    duration_s: durationS,
    moving_s: movingS,
    distance_m: round(metres, 1),
    target_pace_s_per_km: speed > 0 ? round(1000 / speed, 1) : null,
    target_power_w: watts,
    repetition,
  };
}

function toStop(step: Step): TruthStop {
  return { at_s: step.startS, seconds: step.durationS, paused: step.motion === 'paused' };
}

function isRepetition(segment: Segment): boolean {
  return segment.repetition !== null && segment.kind !== 'recovery';
}

/** The planned length in `unit`, if all repetitions have the same length. Null if lengths differ or the plan has the other unit. */
function plannedAlike(
  activity: Activity,
  works: readonly Segment[],
  unit: 'metres' | 'seconds',
): number | null {
  if (works.length === 0) return null;
  const lengths = new Set<number | undefined>();
  for (const part of activity.session.parts) {
    if (isRepeats(part)) for (const work of part.works) lengths.add(work[unit]);
  }
  const [only, ...others] = lengths;
  return others.length === 0 ? (only ?? null) : null;
}

function shapeOf(profile: Profile): Shape {
  switch (profile) {
    case 'progression':
      return 'progression';
    case 'tempo':
      return 'block';
    case 'intervals':
    case 'hills':
    case 'swim':
      return 'repetitions';
    case 'strength':
    case 'manual':
      return 'none';
    case 'easy':
    case 'recovery':
    case 'steady':
    case 'long':
    case 'race':
    case 'ride':
    case 'walk':
    case 'hike':
      return 'even';
  }
}
