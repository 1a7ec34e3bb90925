import { type Facts } from '../facts.js';
import { intensityOf } from '../intensity.js';
import { type Profile } from '../run-shape.js';
import { effortOf } from '../signal/effort.js';
import { meanInMotion } from '../signal/mean-in-motion.js';
import { type Track } from '../signal/track.js';
import { familyOf, type SportFamily } from '../sport.js';
import { type Climb, climbsOf } from './climbs.js';
import { evenRunProfile } from './even-run.js';
import { heartRateDrift } from './heart-rate-drift.js';
import { type Workout, workoutOf } from './workout.js';

/** What the session turned out to be, still in cells of the track. */
export interface Plan extends Workout {
  readonly climbs: readonly Climb[];
  /** Percent. */
  readonly drift: number | undefined;
}

export function planOf(track: Track, facts: Facts): Plan {
  const family = familyOf(facts.sport_type);
  const climbs = climbsOf(track);
  const effort = effortOf(track, family);
  const plain = { profile: plainProfile(track, facts, family), bouts: [], steps: [] };
  if (!effort) return { ...plain, climbs, drift: undefined };
  const workout = workoutOf(track, effort, family, climbs) ?? plain;
  // In a progression no two halves are alike.
  const drift = workout.steps.length > 0 ? undefined : heartRateDrift(track, effort, workout.bouts);
  return { ...workout, climbs, drift };
}

/** Of a session without a structure of its own. */
function plainProfile(track: Track, facts: Facts, family: SportFamily): Profile {
  if (family !== 'run') return family;
  return evenRunProfile(facts, intensityOf(facts, meanInMotion(track, track.heartRate)));
}
