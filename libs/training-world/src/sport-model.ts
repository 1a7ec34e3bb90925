import { type SportType } from './sport-type.js';
import { type AthleteProfile } from './athlete-profile.js';

const RIDE_EXPONENT = 0.42;

interface Output {
  /** Metres a second on level ground. */
  readonly speed: number;
  /** Power at the pedals; null for sports without power. */
  readonly watts: number | null;
}

/** Speed and power of an athlete in the given form. `effort` is a fraction of threshold speed, or of FTP on a bike. */
export function outputOf(sport: SportType, athlete: AthleteProfile, form: number, effort: number): Output {
  if (effort <= 0) return { speed: 0, watts: isRide(sport) ? 0 : null };
  switch (sport) {
    case 'Run':
      return { speed: thresholdSpeed(athlete) * form * effort, watts: null };
    case 'TrailRun':
      return { speed: thresholdSpeed(athlete) * form * effort * 0.88, watts: null };
    case 'Ride':
    case 'VirtualRide': {
      const watts = athlete.ftpWatts * form * effort;
      return { speed: rideSpeed(watts, athlete.weightKg), watts: Math.round(watts) };
    }
    case 'Walk':
      return { speed: 1.45 * effort, watts: null };
    case 'Hike':
      return { speed: 1.15 * effort, watts: null };
    case 'Swim':
      return { speed: (290 / athlete.thresholdPaceSPerKm) * effort, watts: null };
    case 'WeightTraining':
      return { speed: 0, watts: null };
  }
}

/** The effort for a pace, as the inverse of `outputOf`. Undefined for sports without distance. */
export function effortOfPace(
  sport: SportType,
  athlete: AthleteProfile,
  paceSPerKm: number,
): number | undefined {
  const full = outputOf(sport, athlete, 1, 1).speed;
  if (full <= 0) return undefined;
  const share = 1000 / paceSPerKm / full;
  return isRide(sport) ? Math.pow(share, 1 / RIDE_EXPONENT) : share;
}

/** Share of the heart-rate reserve at which the heart settles under a load. */
export function reserveShareOf(sport: SportType, load: number): number {
  if (load <= 0) return 0.35;
  switch (sport) {
    case 'Run':
    case 'TrailRun':
      return within(0.88 + 1.13 * (load - 1), 0.3, 0.96);
    case 'Ride':
    case 'VirtualRide':
      return within(0.85 + 0.8 * (load - 1), 0.3, 0.95);
    case 'Walk':
      return 0.27 * load;
    case 'Hike':
      return 0.42 * load;
    case 'Swim':
      return 0.66 * load;
    case 'WeightTraining':
      return 0.38 * load;
  }
}

/** Cadence in Strava's unit: steps of one leg on foot, crank turns on a bike. 0 if the sport has no cadence. */
export function cadenceAt(sport: SportType, speed: number): number {
  switch (sport) {
    case 'Run':
    case 'TrailRun':
      return 71 + 4.2 * speed;
    case 'Ride':
    case 'VirtualRide':
      return 66 + 2.3 * speed;
    case 'Walk':
    case 'Hike':
      return 38 + 12 * speed;
    case 'Swim':
    case 'WeightTraining':
      return 0;
  }
}

/** Estimates power like a foot pod, with 1.04 W per kilogram at one metre a second. */
export function runWatts(athlete: AthleteProfile, speed: number): number {
  return 1.04 * athlete.weightKg * speed;
}

export function isRide(sport: SportType): boolean {
  return sport === 'Ride' || sport === 'VirtualRide';
}

export function isRun(sport: SportType): boolean {
  return sport === 'Run' || sport === 'TrailRun';
}

function thresholdSpeed(athlete: AthleteProfile): number {
  return 1000 / athlete.thresholdPaceSPerKm;
}

/** Air drag alone would give the exponent 1/3. Because of hills and traffic the exponent is larger. */
function rideSpeed(watts: number, weightKg: number): number {
  return 8.9 * Math.pow(watts / weightKg / 3, RIDE_EXPONENT);
}

function within(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
