import { type Place, PLACES } from './places.js';
import { type Random, randomFor, seed32 } from './random.js';
import { round } from './maths.js';

export interface Gear {
  /** In Strava's form: `g…` for shoes, `b…` for bikes. */
  readonly id: string;
  readonly name: string;
  readonly kind: 'shoes' | 'bike';
  readonly distanceM: number;
  readonly primary: boolean;
}

export interface AthleteProfile {
  /** The athlete's id at the vendor, in decimal digits. */
  readonly id: string;
  readonly seed: number;
  readonly firstName: string;
  readonly lastName: string;
  readonly sex: 'M' | 'F';
  readonly weightKg: number;
  /** The home town, with city, country, IANA time zone and climate. */
  readonly place: Place;
  readonly home: { readonly lat: number; readonly lng: number };
  /** Position of the home relative to the centre of the town. */
  readonly homeEastM: number;
  readonly homeNorthM: number;
  readonly thresholdPaceSPerKm: number;
  readonly ftpWatts: number;
  readonly maxHeartRate: number;
  readonly restingHeartRate: number;
  readonly shoes: readonly Gear[];
  readonly bikes: readonly Gear[];
  readonly deviceName: string;
  readonly hasPowerMeter: boolean;
  readonly hasRunPower: boolean;
  readonly commutesByBike: boolean;
  readonly longRunDay: 'saturday' | 'sunday';
}

interface AthleteProfileOptions {
  /** Default: derived from the seed. */
  id?: string;
}

export const METRES_PER_DEGREE = 111_195;

export function createAthleteProfile(seed: number, options: AthleteProfileOptions = {}): AthleteProfile {
  const ownSeed = seed32(seed);
  const random = randomFor(ownSeed, 'athlete');
  const sex = random.chance(0.5) ? 'F' : 'M';
  const place = random.pick(PLACES);
  const homeEastM = Math.round(random.between(-2500, 2500));
  const homeNorthM = Math.round(random.between(-2500, 2500));
  const weightKg = Math.round(sex === 'F' ? random.between(48, 70) : random.between(60, 86));
  return {
    id: options.id ?? String(10_000_000 + ownSeed),
    seed: ownSeed,
    firstName: random.pick(sex === 'F' ? WOMEN : MEN),
    lastName: random.pick(SURNAMES),
    sex,
    weightKg,
    place,
    home: homeOf(place, homeEastM, homeNorthM),
    homeEastM,
    homeNorthM,
    thresholdPaceSPerKm: Math.round(sex === 'F' ? random.between(225, 330) : random.between(200, 300)),
    ftpWatts: Math.round(weightKg * (sex === 'F' ? random.between(2.6, 4) : random.between(2.9, 4.5))),
    maxHeartRate: random.int(174, 200),
    restingHeartRate: random.int(42, 58),
    shoes: shoesOf(random),
    bikes: bikesOf(random),
    deviceName: random.pick(DEVICES),
    hasPowerMeter: random.chance(0.7),
    hasRunPower: random.chance(0.1),
    commutesByBike: random.chance(0.55),
    longRunDay: random.chance(0.7) ? 'sunday' : 'saturday',
  };
}

function homeOf(place: Place, eastM: number, northM: number): { lat: number; lng: number } {
  const eastDegree = METRES_PER_DEGREE * Math.cos((place.lat * Math.PI) / 180);
  return {
    lat: round(place.lat + northM / METRES_PER_DEGREE, 6),
    lng: round(place.lng + eastM / eastDegree, 6),
  };
}

function shoesOf(random: Random): Gear[] {
  return Array.from({ length: random.int(1, 3) }, (_, index) => ({
    id: `g${random.int(1_000_000, 29_999_999)}`,
    name: random.pick(SHOES),
    kind: 'shoes' as const,
    distanceM: random.int(20, 900) * 1000,
    primary: index === 0,
  }));
}

function bikesOf(random: Random): Gear[] {
  return Array.from({ length: random.int(1, 2) }, (_, index) => ({
    id: `b${random.int(1_000_000, 19_999_999)}`,
    name: random.pick(BIKES),
    kind: 'bike' as const,
    distanceM: random.int(200, 24_000) * 1000,
    primary: index === 0,
  }));
}

const WOMEN = [
  'Ada',
  'Amara',
  'Beatriz',
  'Chloé',
  'Freya',
  'Hanna',
  'Ingrid',
  'Keiko',
  'Leila',
  'Mira',
  'Nia',
  'Zoë',
];
const MEN = [
  'Anders',
  'Ben',
  'Caio',
  'Diego',
  'Elias',
  'Farid',
  'Hiro',
  'Jonas',
  'Kip',
  'Luca',
  'Noah',
  'Tomás',
];
const SURNAMES = [
  'Almeida',
  'Bergström',
  'Castellanos',
  'Fischer',
  'Kimani',
  'Lindqvist',
  'Moreau',
  'Nakamura',
  'O’Connor',
  'Patel',
  'van Dijk',
  'Whitfield',
];
const SHOES = ['Daily Trainer', 'Racing Flat', 'Trail Grip', 'Old Faithful', 'Long Run Cushion'];
const BIKES = ['Aluminium Commuter', 'Road Race', 'Gravel', 'Steel Tourer'];
const DEVICES = [
  'Garmin Forerunner 265',
  'Garmin fēnix 7',
  'COROS PACE 3',
  'Apple Watch Ultra',
  'Suunto Race',
];
