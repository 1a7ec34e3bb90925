/** The family of a sport decides how its recordings are analysed. */
export type SportFamily = 'run' | 'ride' | 'swim' | 'walk' | 'hike' | 'strength' | 'other';

const FAMILIES: ReadonlyMap<string, SportFamily> = new Map([
  ['Run', 'run'],
  ['TrailRun', 'run'],
  ['VirtualRun', 'run'],
  ['Ride', 'ride'],
  ['VirtualRide', 'ride'],
  ['GravelRide', 'ride'],
  ['MountainBikeRide', 'ride'],
  ['EBikeRide', 'ride'],
  ['EMountainBikeRide', 'ride'],
  ['Handcycle', 'ride'],
  ['Velomobile', 'ride'],
  ['Swim', 'swim'],
  ['Walk', 'walk'],
  ['Hike', 'hike'],
  ['Snowshoe', 'hike'],
  ['WeightTraining', 'strength'],
  ['Crossfit', 'strength'],
  ['HighIntensityIntervalTraining', 'strength'],
  ['Workout', 'strength'],
]);

export function familyOf(sportType: string): SportFamily {
  return FAMILIES.get(sportType) ?? 'other';
}

/** On trails the pace depends on the ground as much as on the runner. So a trail run is compared only with trail runs. */
export function isOnTrail(sportType: string): boolean {
  return sportType === 'TrailRun';
}

/** In metres per second. A higher speed is an error of the receiver. */
export function fastestSpeed(family: SportFamily): number {
  switch (family) {
    case 'run':
    case 'walk':
    case 'hike':
    case 'strength':
      return 12;
    case 'swim':
      return 3;
    case 'ride':
    case 'other':
      return 35;
  }
}
