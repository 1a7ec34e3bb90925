import { type Profile, type SportType } from '../athletes/index.js';

export const SPORTS = [
  'Run',
  'TrailRun',
  'Ride',
  'VirtualRide',
  'Walk',
  'Hike',
  'Swim',
  'WeightTraining',
] as const satisfies readonly SportType[];

export const PROFILES = [
  'easy',
  'recovery',
  'steady',
  'tempo',
  'progression',
  'intervals',
  'hills',
  'long',
  'race',
  'ride',
  'walk',
  'hike',
  'swim',
  'strength',
  'manual',
] as const satisfies readonly Profile[];
