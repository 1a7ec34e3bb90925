import { type AthleteProfile, createAthleteProfile } from './athlete-profile.js';
import { EPOCH_S, hypnogramOf, STAGES } from './hypnogram.js';
import { fractionOf, mix, type Random, randomFor, seed32, uuidOf } from './random.js';
import { momentOfLocal, offsetMinutesAt } from './time-zones.js';
import { DAY_MS } from './week.js';

export interface Night {
  /** UUID. */
  readonly id: string;
  readonly seed: number;
  readonly athlete: AthleteProfile;
  readonly startMs: number;
  readonly endMs: number;
  /** Offset at bedtime. A night during a clock change ends with a different offset. */
  readonly utcOffsetMinutes: number;
  readonly endUtcOffsetMinutes: number;
  /** Local day of waking, YYYY-MM-DD. */
  readonly day: string;
  readonly nap: boolean;
  /** The four stages add up to the time in bed. */
  readonly deepS: number;
  readonly lightS: number;
  readonly remS: number;
  readonly awakeS: number;
  readonly latencyS: number;
  /** Time asleep as a percentage of the time in bed, 1 to 100. */
  readonly efficiencyPercent: number;
  readonly averageHeartRate: number | null;
  readonly lowestHeartRate: number | null;
  readonly averageHrvMs: number | null;
  readonly averageBreath: number | null;
  readonly restlessPeriods: number;
  readonly sleepCycles: number;
  readonly disturbances: number;
  readonly temperatureDeviationC: number | null;
  readonly scored: boolean;
  /** 1 to 100; null when not scored. */
  readonly score: number | null;
  /** How good the night was, 0 to 1. */
  readonly quality: number;
}

interface NightsOptions {
  seed: number;
  /** Main sleeps and naps together. */
  count: number;
  /** The newest sleep ends before this moment. */
  endsAtMs: number;
  athlete?: AthleteProfile;
  /** Share of days with a nap; default 0.08. */
  napShare?: number;
  /** Share of sleeps without a score; default 0.03. */
  unscoredShare?: number;
}

// REM sleep belongs to the same cycle if it follows at most half an hour after the last REM sleep.
const CYCLE_GAP_EPOCHS = 60;

/** Main sleeps and naps, newest first. In 2 % of the nights the device was off. */
export function createNights(options: NightsOptions): Night[] {
  const { count, endsAtMs, napShare = 0.08, unscoredShare = 0.03 } = options;
  const seed = seed32(options.seed);
  const athlete = options.athlete ?? createAthleteProfile(options.seed);
  const nights: Night[] = [];
  const add = (night: Night) => {
    if (nights.length < count && night.endMs < endsAtMs) nights.push(night);
  };
  for (let day = Math.floor(endsAtMs / DAY_MS) + 1; nights.length < count; day--) {
    if (fractionOf(seed, 'napped', day) < napShare) add(napOn(athlete, seed, day, unscoredShare));
    if (fractionOf(seed, 'device off', day) >= 0.02) add(sleepInto(athlete, seed, day, unscoredShare));
  }
  return nights;
}

interface NightOptions {
  athlete: AthleteProfile;
  seed: number;
  endMs: number;
  /** Time in bed, rounded to 30 s. Default: a usual length of a night or nap. */
  durationS?: number;
  nap?: boolean;
  /** 0 to 1. */
  quality?: number;
  scored?: boolean;
}

export function createNight(options: NightOptions): Night {
  const { athlete, endMs, nap = false, scored = true } = options;
  const seed = seed32(options.seed);
  const random = randomFor(seed, 'night');
  const usualS = nap ? random.between(1200, 5400) : random.between(23_400, 31_500);
  const epochs = Math.max(2, Math.round((options.durationS ?? usualS) / EPOCH_S));
  const quality = Math.min(1, Math.max(0, options.quality ?? usualQuality(random)));
  const startMs = endMs - epochs * EPOCH_S * 1000;
  const { timeZone } = athlete.place;
  const stages = countStages(hypnogramOf({ seed, startMs, endMs, nap, quality }));
  return {
    id: uuidOf(mix(seed, 0x51ee9)),
    seed,
    athlete,
    startMs,
    endMs,
    utcOffsetMinutes: offsetMinutesAt(timeZone, startMs),
    endUtcOffsetMinutes: offsetMinutesAt(timeZone, endMs),
    day: localDay(timeZone, endMs),
    nap,
    ...stages,
    ...vitals(athlete, quality, randomFor(seed, 'vitals')),
    scored,
    score: scored ? scoreOf(quality, stages, nap) : null,
    quality,
  };
}

function sleepInto(athlete: AthleteProfile, seed: number, day: number, unscoredShare: number): Night {
  const ownSeed = mix(seed, day, 1);
  const random = randomFor(ownSeed, 'bedtime');
  const isWeekend = [2, 3].includes(((day % 7) + 7) % 7);
  const wakesAtMinute = random.between(350, 440) + (isWeekend ? random.between(20, 90) : 0);
  return createNight({
    athlete,
    seed: ownSeed,
    endMs: localMoment(athlete, day, wakesAtMinute),
    scored: !random.chance(unscoredShare),
  });
}

/** Most naps end after lunch. One nap in five ends after 18:00. Some vendors count such a nap for the next day. */
function napOn(athlete: AthleteProfile, seed: number, day: number, unscoredShare: number): Night {
  const ownSeed = mix(seed, day, 2);
  const random = randomFor(ownSeed, 'bedtime');
  const endsAtMinute = random.chance(0.2) ? random.between(1085, 1150) : random.between(830, 960);
  return createNight({
    athlete,
    seed: ownSeed,
    endMs: localMoment(athlete, day, endsAtMinute),
    nap: true,
    scored: !random.chance(unscoredShare),
  });
}

function localMoment(athlete: AthleteProfile, day: number, minute: number): number {
  const localMs = day * DAY_MS + Math.round(minute * 2) * 30_000;
  return momentOfLocal(athlete.place.timeZone, localMs);
}

function localDay(timeZone: string, ms: number): string {
  return new Date(ms + offsetMinutesAt(timeZone, ms) * 60_000).toISOString().slice(0, 10);
}

function usualQuality(random: Random): number {
  return 0.7 + 0.13 * random.noise();
}

type Stages = Pick<
  Night,
  | 'deepS'
  | 'lightS'
  | 'remS'
  | 'awakeS'
  | 'latencyS'
  | 'efficiencyPercent'
  | 'sleepCycles'
  | 'disturbances'
  | 'restlessPeriods'
>;

function countStages(hypnogram: Uint8Array): Stages {
  const epochs = [0, 0, 0, 0, 0];
  let sleepCycles = 0;
  let wakings = 0;
  let lastRem = -Infinity;
  for (let i = 0; i < hypnogram.length; i++) {
    const stage = hypnogram[i]!;
    const before = hypnogram[i - 1];
    epochs[stage] = epochs[stage]! + 1;
    if (stage === STAGES.rem) {
      if (i - lastRem > CYCLE_GAP_EPOCHS) sleepCycles++;
      lastRem = i;
    }
    if (stage === STAGES.awake && before !== STAGES.awake) wakings++;
  }
  const asleep = hypnogram.length - epochs[STAGES.awake]!;
  const onset = hypnogram.findIndex((stage) => stage !== STAGES.awake);
  // Lying awake before falling asleep is not counted as a disturbance.
  const disturbances = Math.max(0, wakings - 1);
  return {
    deepS: epochs[STAGES.deep]! * EPOCH_S,
    lightS: epochs[STAGES.light]! * EPOCH_S,
    remS: epochs[STAGES.rem]! * EPOCH_S,
    awakeS: epochs[STAGES.awake]! * EPOCH_S,
    latencyS: onset * EPOCH_S,
    efficiencyPercent: Math.max(1, Math.round((100 * asleep) / hypnogram.length)),
    sleepCycles,
    disturbances,
    restlessPeriods: Math.round(hypnogram.length / 8) + 12 * disturbances,
  };
}

type Vitals = Pick<
  Night,
  'averageHeartRate' | 'lowestHeartRate' | 'averageHrvMs' | 'averageBreath' | 'temperatureDeviationC'
>;

/** Vital signs of a night. Each may be null, as if the sensor had lost contact. */
function vitals(athlete: AthleteProfile, quality: number, random: Random): Vitals {
  const lowest = Math.round(athlete.restingHeartRate + 6 * (1 - quality) + random.between(-2, 2));
  const average = lowest + random.between(3, 7) + 4 * (1 - quality);
  const variability = Math.round(
    130 - 1.3 * athlete.restingHeartRate + 40 * (quality - 0.7) + 6 * random.noise(),
  );
  const hasHeartRate = !random.chance(0.03);
  return {
    averageHeartRate: hasHeartRate ? Math.round(average * 8) / 8 : null,
    lowestHeartRate: hasHeartRate ? lowest : null,
    averageHrvMs: !hasHeartRate || random.chance(0.04) ? null : Math.max(15, variability),
    averageBreath: random.chance(0.05) ? null : Math.round(random.between(12, 17.5) * 8) / 8,
    temperatureDeviationC: random.chance(0.06) ? null : Math.round(25 * random.noise()) / 100 + 0,
  };
}

function scoreOf(quality: number, stages: Stages, nap: boolean): number {
  const asleepHours = (stages.deepS + stages.lightS + stages.remS) / 3600;
  const rested = Math.min(1, asleepHours / (nap ? 1 : 7.5));
  return Math.max(1, Math.min(100, Math.round(25 + 45 * quality + 32 * rested)));
}
