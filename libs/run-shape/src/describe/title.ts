import { type ShapeFacts } from '../facts.js';
import { raceDistance } from '../find/even-run.js';
import { type Profile, type Repetitions, type Segment } from '../run-shape.js';
import { familyOf } from '../sport.js';
import { mean, rounded } from '../signal/maths.js';
import { nearestRound, roundError, ROUND_DISTANCES_M, ROUND_DURATIONS_S } from './repetitions.js';
import { clock, distance, duration, LEAST_WORDED_M, pacePerKm, speedWords, sportName } from './units.js';

/** The input of titles and descriptions. */
export interface WordingInput {
  readonly profile: Profile;
  readonly facts: ShapeFacts;
  readonly segments: readonly Segment[];
  readonly repetitions: Repetitions | null;
}

/** One line with kind, amount and speed. */
export function titleOf(known: WordingInput): string {
  const { profile, facts, segments, repetitions } = known;
  if (repetitions) return repetitionsTitle(known, repetitions);
  switch (profile) {
    case 'easy':
      return measured('Easy run', facts);
    case 'recovery':
      return measured('Recovery run', facts);
    case 'steady':
      return measured('Steady run', facts);
    case 'long':
      return measured('Long run', facts);
    case 'race-like':
      return `${distance(raceDistance(facts) ?? facts.distance_m)} at race effort in ${clock(facts.moving_time_s)}`;
    case 'tempo':
      return tempoTitle(segments);
    case 'progression':
      return progressionTitle(segments);
    case 'ride':
    case 'swim':
      return measured(sportName(facts.sport_type), facts);
    case 'intervals':
    case 'hills':
    case 'walk':
    case 'hike':
    case 'strength':
    case 'other':
      return lengthOnly(sportName(facts.sport_type), facts);
    case 'unrecorded':
      return lengthOnly(`${sportName(facts.sport_type)} without a recording`, facts);
  }
}

function measured(name: string, facts: ShapeFacts): string {
  const { distance_m, moving_time_s } = facts;
  const pace =
    distance_m >= LEAST_WORDED_M && moving_time_s > 0 ? (1_000 * moving_time_s) / distance_m : null;
  const speed = speedWords(familyOf(facts.sport_type), pace, null);
  return speed === '' ? lengthOnly(name, facts) : `${lengthOnly(name, facts)} at ${speed}`;
}

function lengthOnly(name: string, { distance_m, moving_time_s }: ShapeFacts): string {
  if (distance_m >= LEAST_WORDED_M) return `${name}, ${distance(distance_m)}`;
  return moving_time_s >= 1 ? `${name}, ${clock(moving_time_s)}` : name;
}

function tempoTitle(segments: readonly Segment[]): string {
  const block = segments.find(({ kind }) => kind === 'work');
  const minutes = block ? `${Math.round((block.to_s - block.from_s) / 60)} min ` : '';
  const pace = block?.average_pace_s_per_km;
  return `${minutes}tempo${pace ? ` at ${pacePerKm(pace)}` : ''}`;
}

function progressionTitle(segments: readonly Segment[]): string {
  const first = segments[0]?.average_pace_s_per_km;
  const last = segments[segments.length - 1]?.average_pace_s_per_km;
  return first && last ? `Progression from ${clock(first)} to ${pacePerKm(last)}` : 'Progression';
}

function repetitionsTitle(known: WordingInput, repetitions: Repetitions): string {
  const { profile, facts } = known;
  const uphill = profile === 'hills' ? ' uphill' : '';
  const speed = uphill ? '' : at(facts, repetitions);
  return `${amount(known, repetitions)}${uphill}${speed}${recovery(known, repetitions)}`;
}

function amount({ segments }: WordingInput, { count, distance_m, duration_s }: Repetitions): string {
  if (distance_m !== null) return `${count} × ${distance(distance_m)}`;
  if (duration_s !== null) return `${count} × ${duration(duration_s)}`;
  const works = segments.filter(({ kind }) => kind === 'work' || kind === 'climb');
  return `${count} repetitions of ${ladder(works)}`;
}

/** The shortest and the longest part of a ladder, in metres or minutes. The unit with rounder numbers is chosen. */
function ladder(works: readonly Segment[]): string {
  const metres = works.map(({ distance_m }) => distance_m ?? 0);
  const seconds = works.map(({ from_s, to_s }) => to_s - from_s);
  const isByDistance = meanOff(metres, ROUND_DISTANCES_M) < meanOff(seconds, ROUND_DURATIONS_S);
  const [rungs, round, words] = isByDistance
    ? ([metres, ROUND_DISTANCES_M, distance] as const)
    : ([seconds, ROUND_DURATIONS_S, duration] as const);
  const named = (value: number) =>
    words(roundError(value, round) <= 0.03 ? nearestRound(value, round) : rounded(value / 5, 0) * 5);
  return `${named(Math.min(...rungs))} to ${named(Math.max(...rungs))}`;
}

function meanOff(values: readonly number[], round: readonly number[]): number {
  return mean(values.map((value) => roundError(value, round)));
}

function at({ sport_type }: ShapeFacts, { average_pace_s_per_km, average_watts }: Repetitions): string {
  const speed = speedWords(familyOf(sport_type), average_pace_s_per_km, average_watts);
  return speed === '' ? '' : ` at ${speed}`;
}

// Recoveries are not exact. Rounded to five seconds they look like the planned recoveries.
const RECOVERY_GRAIN_S = 5;

function recovery({ facts, profile }: WordingInput, { recovery_s, recovery: kind }: Repetitions): string {
  if (recovery_s === null) return '';
  if (profile === 'hills') return ', jogging down';
  const seconds = Math.max(RECOVERY_GRAIN_S, Math.round(recovery_s / RECOVERY_GRAIN_S) * RECOVERY_GRAIN_S);
  const easy = familyOf(facts.sport_type) === 'run' ? 'jog' : 'easy';
  return ` with ${duration(seconds)} ${kind === 'standing' ? 'rest' : easy}`;
}
