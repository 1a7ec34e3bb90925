/** The sports that the generator models. */
export type SportType =
  'Run' | 'TrailRun' | 'Ride' | 'VirtualRide' | 'Walk' | 'Hike' | 'Swim' | 'WeightTraining';

/** Strava's sport types. Each maps to the sport whose model makes its recording. */
const MODELLED_AS = {
  AlpineSki: 'Hike',
  BackcountrySki: 'Hike',
  Badminton: 'WeightTraining',
  Basketball: 'WeightTraining',
  Canoeing: 'Walk',
  Cricket: 'WeightTraining',
  Crossfit: 'WeightTraining',
  Dance: 'WeightTraining',
  EBikeRide: 'Ride',
  Elliptical: 'WeightTraining',
  EMountainBikeRide: 'Ride',
  Golf: 'Walk',
  GravelRide: 'Ride',
  Handcycle: 'Ride',
  HighIntensityIntervalTraining: 'WeightTraining',
  Hike: 'Hike',
  IceSkate: 'Walk',
  InlineSkate: 'Walk',
  Kayaking: 'Walk',
  Kitesurf: 'Walk',
  MountainBikeRide: 'Ride',
  NordicSki: 'Hike',
  Padel: 'WeightTraining',
  PhysicalTherapy: 'WeightTraining',
  Pickleball: 'WeightTraining',
  Pilates: 'WeightTraining',
  Racquetball: 'WeightTraining',
  Ride: 'Ride',
  RockClimbing: 'WeightTraining',
  RollerSki: 'Hike',
  Rowing: 'Walk',
  Run: 'Run',
  Sail: 'Walk',
  Skateboard: 'Walk',
  Snowboard: 'Hike',
  Snowshoe: 'Hike',
  Soccer: 'Walk',
  Squash: 'WeightTraining',
  StairStepper: 'WeightTraining',
  StandUpPaddling: 'Walk',
  Surfing: 'Walk',
  Swim: 'Swim',
  TableTennis: 'WeightTraining',
  Tennis: 'WeightTraining',
  TrailRun: 'TrailRun',
  Velomobile: 'Ride',
  VirtualRide: 'VirtualRide',
  VirtualRow: 'Walk',
  VirtualRun: 'Run',
  Volleyball: 'WeightTraining',
  Walk: 'Walk',
  WeightTraining: 'WeightTraining',
  Wheelchair: 'Walk',
  Windsurf: 'Walk',
  Workout: 'WeightTraining',
  Yoga: 'WeightTraining',
} as const satisfies Record<string, SportType>;

export type StravaSport = keyof typeof MODELLED_AS;

export const SPORT_TYPES = Object.keys(MODELLED_AS) as [StravaSport, ...StravaSport[]];

export function modelledSportOf(sport: StravaSport): SportType {
  return MODELLED_AS[sport];
}

export function isIndoor(sport: StravaSport): boolean {
  return sport.startsWith('Virtual') || sport === 'Swim' || MODELLED_AS[sport] === 'WeightTraining';
}

/** The value of Strava's older field `type`. This field has fewer values than `sport_type`. */
export function legacyTypeOf(sport: string): string {
  return LEGACY_TYPES[sport] ?? sport;
}

/** Strava's words for a sport in the name of an activity. For example, `StandUpPaddling` is "Stand Up Paddling". */
export function displayNameOf(sport: string): string {
  return sport.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/^E(?=[A-Z])/, 'E-');
}

const LEGACY_TYPES: Record<string, string | undefined> = {
  EMountainBikeRide: 'EBikeRide',
  GravelRide: 'Ride',
  MountainBikeRide: 'Ride',
  TrailRun: 'Run',
  VirtualRow: 'Rowing',
  Badminton: 'Workout',
  Basketball: 'Workout',
  Cricket: 'Workout',
  Dance: 'Workout',
  HighIntensityIntervalTraining: 'Workout',
  Padel: 'Workout',
  PhysicalTherapy: 'Workout',
  Pickleball: 'Workout',
  Pilates: 'Workout',
  Racquetball: 'Workout',
  Squash: 'Workout',
  TableTennis: 'Workout',
  Tennis: 'Workout',
  Volleyball: 'Workout',
};
