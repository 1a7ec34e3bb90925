import { floor, max, min } from './maths.js';
import { type SportType } from './sport-type.js';
import { type AthleteProfile } from './athlete-profile.js';
import { type Place, PLACES, seasonalC } from './places.js';
import { fractionOf, pickOf, type Random, randomFor } from './random.js';
import { type Season, seasonOf } from './seasons.js';
import { type SessionKey } from './sessions.js';

/** One planned activity. `minute` counts from local midnight. */
export interface Slot {
  readonly minute: number;
  readonly session: SessionKey;
  readonly sport: SportType;
  readonly amount: number;
  readonly indoor: boolean;
  readonly commute: boolean;
}

export interface Day {
  readonly season: Season;
  readonly place: Place;
  readonly slots: readonly Slot[];
}

export const DAY_MS = 86_400_000;

// Two start times are so far apart that even the longest session ends before the next activity.
const DAWN = 355;
const TO_WORK = 455;
const WEEKEND = 480;
const LUNCH = 725;
const FROM_WORK = 1005;
const WEEKEND_AFTERNOON = 1010;
const EVENING = 1075;
const EXTRA_WORKDAY = [290, 560, 610, 660, 850, 900, 1240, 1285, 1330] as const;
const EXTRA_WEEKEND = [290, 905, 955, 1110, 1160, 1210, 1260, 1310, 1360] as const;

/** Plans one day. For a history that needs more activities, it adds `extraWalks` walks a day on average. */
export function dayOf(athlete: AthleteProfile, seed: number, dayNumber: number, extraWalks: number): Day {
  // Day 0 was a Thursday.
  const week = floor((dayNumber + 3) / 7);
  const weekday = (((dayNumber + 3) % 7) + 7) % 7;
  const season = seasonOf(seed, week);
  const place = placeOf(athlete, seed, week);
  const diary = new Diary(randomFor(seed, 'day', dayNumber), season, seasonalC(place, dayNumber * DAY_MS));

  if (season.isIll) diary.sometimes(0.15, EVENING, 'walk', 'Walk');
  else if (weekday >= 5) planWeekend(diary, athlete, isLongRunDay(athlete, weekday));
  else planWorkday(diary, weekday);
  if (weekday < 5 && place === athlete.place && athlete.commutesByBike && !season.isIll) planCommute(diary);
  diary.extraWalks(weekday >= 5 ? EXTRA_WEEKEND : EXTRA_WORKDAY, extraWalks);
  return { season, place, slots: diary.slots.sort((a, b) => a.minute - b.minute) };
}

/** Average number of activities a day without extra walks. A long history needs more activities a day and adds walks. */
export function usualPerDay(athlete: AthleteProfile): number {
  return athlete.commutesByBike ? 1.6 : 1;
}

function isLongRunDay(athlete: AthleteProfile, weekday: number): boolean {
  return weekday === (athlete.longRunDay === 'saturday' ? 5 : 6);
}

function placeOf(athlete: AthleteProfile, seed: number, week: number): Place {
  if (fractionOf(seed, 'travels', week) >= 0.06) return athlete.place;
  return pickOf(PLACES, fractionOf(seed, 'travels to', week));
}

/** Monday and Friday are rest or easy, Tuesday is fast, Wednesday has up to three easy sessions, Thursday is hard. */
function planWorkday(diary: Diary, weekday: number): void {
  const { phase } = diary.season;
  const runHour = diary.random.chance(0.25) ? LUNCH : EVENING;
  switch (weekday) {
    case 0:
      if (!diary.sometimes(0.2, runHour, 'recovery', 'Run'))
        diary.sometimes(0.3, EVENING, 'strength', 'WeightTraining');
      return;
    case 1:
      if (phase === 'off') diary.sometimes(0.7, runHour, 'easy', 'Run');
      else diary.add(runHour, diary.random.pick(FAST[phase]), 'Run');
      return;
    case 2:
      if (phase === 'build') diary.sometimes(0.6, DAWN, 'recovery', 'Run');
      diary.sometimes(0.85, LUNCH, 'easy', 'Run');
      diary.sometimes(0.45, EVENING, diary.random.chance(0.4) ? 'swim' : 'strength');
      return;
    case 3:
      if (phase === 'off') diary.sometimes(0.5, EVENING, 'rideRecovery', 'VirtualRide');
      else if (diary.random.chance(0.2)) diary.add(EVENING, diary.random.pick(FAST_RIDES), 'VirtualRide');
      else diary.add(runHour, diary.random.pick(HARD[phase]), 'Run');
      return;
    default:
      if (!diary.sometimes(0.35, runHour, 'recovery', 'Run')) diary.sometimes(0.25, EVENING, 'walk', 'Walk');
  }
}

function planWeekend(diary: Diary, athlete: AthleteProfile, isLong: boolean): void {
  const { phase } = diary.season;
  if (phase === 'off') {
    if (diary.sometimes(0.35, WEEKEND, 'hike', 'Hike')) return;
    diary.sometimes(0.5, WEEKEND, isLong ? 'easy' : 'rideEndurance');
    return;
  }
  if (isLong) {
    const races = phase === 'race' && diary.random.chance(0.45);
    if (races) diary.add(WEEKEND, diary.random.pick(RACES), 'Run');
    else diary.add(WEEKEND, 'long', diary.random.chance(0.25) ? 'TrailRun' : 'Run');
    diary.sometimes(0.12, WEEKEND_AFTERNOON, 'walk', 'Walk');
    return;
  }
  if (diary.random.chance(0.4)) diary.add(WEEKEND, 'easy', diary.random.chance(0.3) ? 'TrailRun' : 'Run');
  else diary.sometimes(0.85, WEEKEND, diary.random.pick(athlete.hasPowerMeter ? RIDES_BY_POWER : RIDES));
  diary.sometimes(0.15, WEEKEND_AFTERNOON, 'swim', 'Swim');
}

function planCommute(diary: Diary): void {
  if (!diary.random.chance(0.42)) return;
  diary.add(TO_WORK, 'commute', 'Ride');
  if (diary.random.chance(0.95)) diary.add(FROM_WORK, 'commute', 'Ride');
}

class Diary {
  readonly slots: Slot[] = [];

  constructor(
    readonly random: Random,
    readonly season: Season,
    private readonly celsius: number,
  ) {}

  sometimes(probability: number, minute: number, session: SessionKey, sport?: SportType): boolean {
    if (!this.random.chance(probability)) return false;
    this.add(minute, session, sport);
    return true;
  }

  add(minute: number, session: SessionKey, sport: SportType = USUAL_SPORT[session] ?? 'Run'): void {
    const isFrosty = this.celsius < 4;
    const indoorSport = sport === 'VirtualRide' || sport === 'Swim' || sport === 'WeightTraining';
    const treadmill = sport === 'Run' && isFrosty && TREADMILL.has(session) && this.random.chance(0.35);
    const commute = session === 'commute';
    const stretch = commute ? 1 : this.season.volume;
    this.slots.push({
      minute: minute + this.random.between(-5, 5),
      session,
      sport,
      // The limit lets a long session end before the afternoon session, and an evening session before midnight.
      amount: min(1.45, max(0.5, stretch * this.random.between(0.8, 1.2))),
      indoor: indoorSport || treadmill,
      commute,
    });
  }

  extraWalks(minutes: readonly number[], average: number): void {
    for (const minute of minutes) {
      if (this.random.chance(average / minutes.length)) this.add(minute, 'stroll', 'Walk');
    }
  }
}

const FAST: Record<'base' | 'build' | 'race', readonly SessionKey[]> = {
  base: ['hills8x60', 'hills10x45', 'hills6x90', 'reps8x3min', 'reps12x1min', 'progression5'],
  build: [
    'reps6x800',
    'reps5x1000',
    'reps6x1000',
    'reps8x3min',
    'ladderMinutes',
    'ladderMetres',
    'reps12x400',
  ],
  race: ['reps10x400', 'reps12x200', 'reps12x400', 'reps6x800', 'reps12x1min'],
};

const HARD: Record<'base' | 'build' | 'race', readonly SessionKey[]> = {
  base: ['steady', 'steady', 'progression3', 'tempo'],
  build: ['tempo', 'longTempo', 'reps4x8min', 'reps3x10min', 'progression5'],
  race: ['tempo', 'steady', 'reps3x10min', 'progression3'],
};

const FAST_RIDES: readonly SessionKey[] = ['ride3x10min', 'ride4x8min', 'ride5x5min', 'ride10x1min'];
const RIDES: readonly SessionKey[] = ['rideEndurance', 'rideEndurance', 'rideLong'];
// On a hilly road, repetitions are visible only with a power meter.
const RIDES_BY_POWER: readonly SessionKey[] = [...RIDES, 'ride3x10min'];
const RACES: readonly SessionKey[] = ['race5k', 'race10k', 'race10k', 'raceHalf', 'raceMarathon'];

const TREADMILL: ReadonlySet<SessionKey> = new Set([
  'easy',
  'recovery',
  'steady',
  'tempo',
  'progression5',
  'reps8x3min',
]);

const USUAL_SPORT: Partial<Record<SessionKey, SportType>> = {
  rideEndurance: 'Ride',
  rideLong: 'Ride',
  rideRecovery: 'Ride',
  ride3x10min: 'Ride',
  ride4x8min: 'Ride',
  ride5x5min: 'Ride',
  ride10x1min: 'Ride',
  commute: 'Ride',
  walk: 'Walk',
  stroll: 'Walk',
  hike: 'Hike',
  swim: 'Swim',
  strength: 'WeightTraining',
};
