import { type SportFamily } from '../sport.js';

/** Writes seconds as "3:45" or "1:02:10". */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3_600);
  const minutes = Math.floor((whole % 3_600) / 60);
  const rest = String(whole % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

/** Writes seconds as "45 s", "90 s", "2 min" or "2:30 min". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole % 60 === 0 && whole > 0) return `${whole / 60} min`;
  return whole < 120 ? `${whole} s` : `${clock(whole)}${whole < 3_600 ? ' min' : ' h'}`;
}

/** Writes metres as "400 m", "1 km", "1 mile" or "12.4 km". */
export function distance(metres: number): string {
  if (Math.round(metres) === 1_609) return '1 mile';
  if (metres < 1_000) return `${Math.round(metres)} m`;
  const kilometres = Math.round(metres / 100) / 10;
  return metres % 100 === 0 && metres < 5_000 && metres % 1_000 !== 0 ? `${metres} m` : `${kilometres} km`;
}

export function pacePerKm(secondsPerKm: number): string {
  return `${clock(secondsPerKm)}/km`;
}

// Outside these limits the pace is a typing error or the athlete did not move.
const FASTEST_S_PER_KM = 20;
const SLOWEST_S_PER_KM = 3_600;
/** Titles and descriptions leave out shorter distances. */
export const LEAST_WORDED_M = 10;

/** Ride: watts, or else km/h. Swim: time per 100 m. Other: time per kilometre. Empty if neither speed nor power is known. */
export function speedWords(family: SportFamily, secondsPerKm: number | null, watts: number | null): string {
  if (family === 'ride' && watts !== null) return `${watts} W`;
  if (secondsPerKm === null || secondsPerKm < FASTEST_S_PER_KM || secondsPerKm > SLOWEST_S_PER_KM) return '';
  if (family === 'ride') return `${(3_600 / secondsPerKm).toFixed(1)} km/h`;
  if (family === 'swim') return `${clock(secondsPerKm / 10)}/100 m`;
  return pacePerKm(secondsPerKm);
}

/** Writes a sport type as words, for example "NordicSki" as "Nordic ski". */
export function sportName(sportType: string): string {
  const words = sportType.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
