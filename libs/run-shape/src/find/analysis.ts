import { type ShapeFacts } from '../facts.js';
import { evenRunProfile, intensityOf } from './even-run.js';
import { type Profile } from '../run-shape.js';
import { effortOf } from '../signal/effort.js';
import { type Track } from '../signal/track.js';
import { familyOf, type SportFamily } from '../sport.js';
import { type Climb, climbsOf } from './climbs.js';
import { heartRateDrift } from './heart-rate-drift.js';
import { type Workout, workoutOf } from './workout.js';

/** The structure of a session, in cells of the track. */
export interface Analysis extends Workout {
  readonly climbs: readonly Climb[];
  /** Rise of the heart rate in percent. */
  readonly drift: number | undefined;
}

export function analysisOf(track: Track, facts: ShapeFacts): Analysis {
  const family = familyOf(facts.sport_type);
  const climbs = climbsOf(track);
  const effort = effortOf(track, family);
  const unstructured = { profile: unstructuredProfile(track, facts, family), bouts: [], steps: [] };
  if (!effort) return { ...unstructured, climbs, drift: undefined };
  const workout = workoutOf(track, effort, family, climbs) ?? unstructured;
  // The halves of a progression have different efforts, so they cannot be compared.
  const drift = workout.steps.length > 0 ? undefined : heartRateDrift(track, effort, workout.bouts);
  return { ...workout, climbs, drift };
}

/** The profile of a session without a structure. */
function unstructuredProfile(track: Track, facts: ShapeFacts, family: SportFamily): Profile {
  if (family !== 'run') return family;
  return evenRunProfile(facts, intensityOf(facts, meanInMotion(track, track.heartRate)));
}

/** Mean of the values while the athlete moved; null without such values. */
function meanInMotion({ isStill }: Track, values: Float64Array | undefined): number | null {
  if (!values) return null;
  let sum = 0;
  let count = 0;
  values.forEach((value, cell) => {
    if (Number.isNaN(value) || isStill[cell]) return;
    sum += value;
    count++;
  });
  return count > 0 ? sum / count : null;
}
