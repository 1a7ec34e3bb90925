import { type Activity } from '../activity.js';
import { localStartMs } from '../local-time.js';
import { fractionOf, pickOf } from '../random.js';
import { isRide } from '../sport-model.js';

/** What the athlete (or Strava, by the hour) called it. */
export function nameOf(activity: Activity): string {
  return activity.overrides?.name ?? ownName(activity) ?? `${partOfDay(activity)} ${NOUN[activity.sport]}`;
}

export function descriptionOf(activity: Activity): string | null {
  const edited = activity.overrides?.description;
  if (edited !== undefined) return edited;
  if (fractionOf(activity.seed, 'described') >= 0.2) return null;
  return pickOf(REMARKS, fractionOf(activity.seed, 'description'));
}

const NOUN = {
  Run: 'Run',
  TrailRun: 'Trail Run',
  Ride: 'Ride',
  VirtualRide: 'Virtual Ride',
  Walk: 'Walk',
  Hike: 'Hike',
  Swim: 'Swim',
  WeightTraining: 'Weight Training',
} as const;

const REMARKS = [
  'Legs felt heavy at first, better after the warm-up.',
  'Windy on the way back.',
  'Met half the club at the bakery.',
  'New shoes. “Fast” ones, they said.',
  'Kept it easy on purpose.',
  'Hot! Drank too little.\nNext time with a bottle.',
  'Sunrise over the river 🌅',
];

/** Most leave the name as it is; races and hard sessions are worth a line. */
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

/** Strava's marks: 0 none, 1 race, 2 long run, 3 workout; 10 more for rides. */
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
