import { type Activity } from '#training-world';

interface PolarSport {
  /** Coarse name. */
  readonly sport: string;
  readonly detailed: string;
}

/** Polar's names of the sports that the simulator names by itself; an order may give any others. */
const SPORTS: Readonly<Record<string, PolarSport>> = {
  Run: { sport: 'RUNNING', detailed: 'ROAD_RUNNING' },
  TrailRun: { sport: 'RUNNING', detailed: 'TRAIL_RUNNING' },
  VirtualRun: { sport: 'RUNNING', detailed: 'TREADMILL_RUNNING' },
  Ride: { sport: 'CYCLING', detailed: 'ROAD_BIKING' },
  GravelRide: { sport: 'CYCLING', detailed: 'ROAD_BIKING' },
  MountainBikeRide: { sport: 'MOUNTAIN_BIKING', detailed: 'MOUNTAIN_BIKING' },
  VirtualRide: { sport: 'CYCLING', detailed: 'INDOOR_CYCLING' },
  Walk: { sport: 'WALKING', detailed: 'WALKING' },
  Hike: { sport: 'HIKING', detailed: 'HIKING' },
  Swim: { sport: 'SWIMMING', detailed: 'POOL_SWIMMING' },
  WeightTraining: { sport: 'STRENGTH_TRAINING', detailed: 'STRENGTH_TRAINING' },
  Yoga: { sport: 'YOGA', detailed: 'YOGA' },
  NordicSki: { sport: 'CROSS-COUNTRY_SKIING', detailed: 'CROSS-COUNTRY_SKIING' },
  Rowing: { sport: 'ROWING', detailed: 'ROWING' },
};

const INDOORS: Readonly<Record<string, PolarSport>> = {
  Run: SPORTS.VirtualRun!,
  Ride: SPORTS.VirtualRide!,
};

const OTHER: PolarSport = { sport: 'OTHER', detailed: 'OTHER_INDOOR' };

export function polarSportOf({ namedSport, sport, indoor, overrides }: Activity): PolarSport {
  const named = overrides?.sport_type ?? namedSport ?? sport;
  return (indoor ? INDOORS[named] : undefined) ?? SPORTS[named] ?? OTHER;
}

export function isOnFoot({ sport }: Activity): boolean {
  return sport === 'Run' || sport === 'TrailRun' || sport === 'Walk' || sport === 'Hike';
}
