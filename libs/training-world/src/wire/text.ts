import { type Activity } from '../activity.js';
import { localStartMs } from '../local-time.js';
import { fractionOf, pickOf } from '../random.js';
import { isRide } from '../sport-model.js';
import { displayNameOf } from '../sport-type.js';

/** The edited name, else the athlete's own name for the activity, else Strava's default name for the hour of the start. */
export function nameOf(activity: Activity): string {
  return (
    activity.overrides?.name ??
    ownName(activity) ??
    `${partOfDay(activity)} ${displayNameOf(activity.namedSport ?? activity.sport)}`
  );
}

export function descriptionOf(activity: Activity): string | null {
  const edited = activity.overrides?.description;
  if (edited !== undefined) return edited;
  if (fractionOf(activity.seed, 'described') >= 0.2) return null;
  return pickOf(REMARKS, fractionOf(activity.seed, 'description'));
}

const REMARKS = [
  'Legs felt heavy at first, better after the warm-up.',
  'Windy on the way back.',
  'Met half the club at the bakery.',
  'New shoes. “Fast” ones, they said.',
  'Kept it easy on purpose.',
  'Hot! Drank too little.\nNext time with a bottle.',
  'Sunrise over the river 🌅',
];

/** The athlete's own name, for races, some commutes and some hard sessions. Null means Strava's default name. */
function ownName(activity: Activity): string | null {
  const { session, seed } = activity;
  if (activity.commute) return fractionOf(seed, 'named') < 0.5 ? 'Commute' : null;
  switch (session.profile) {
    case 'race':
      return `${session.name} 🏁`;
    case 'intervals':
    case 'hills':
    case 'tempo':
    case 'progression':
      return fractionOf(seed, 'named') < 0.55 ? session.name : null;
    case 'long':
      return fractionOf(seed, 'named') < 0.3 ? 'Long one' : null;
    case 'easy':
    case 'recovery':
    case 'steady':
    case 'ride':
    case 'walk':
    case 'hike':
    case 'swim':
    case 'strength':
    case 'manual':
      return null;
  }
}

function partOfDay(activity: Activity): string {
  const hour = new Date(localStartMs(activity)).getUTCHours();
  if (hour < 4 || hour >= 21) return 'Night';
  if (hour < 11) return 'Morning';
  if (hour < 14) return 'Lunch';
  return hour < 17 ? 'Afternoon' : 'Evening';
}

/** Strava's `workout_type`. For runs: 0 none, 1 race, 2 long run, 3 workout. For rides: 10 none, 11 race, 12 long or workout. */
export function workoutTypeOf(activity: Activity): number | null {
  const base = isRide(activity.sport) ? 10 : 0;
  switch (activity.session.profile) {
    case 'race':
      return base + 1;
    case 'long':
      return base + 2;
    case 'intervals':
    case 'hills':
    case 'tempo':
    case 'progression':
      return base + (fractionOf(activity.seed, 'marked') < 0.6 ? (base === 0 ? 3 : 2) : 0);
    case 'easy':
    case 'recovery':
    case 'steady':
    case 'ride':
      return base;
    case 'walk':
    case 'hike':
    case 'swim':
    case 'strength':
    case 'manual':
      return null;
  }
}
