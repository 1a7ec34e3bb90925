import { type ClimbPart, type Segment, type SegmentKind } from '../run-shape.js';
import { familyOf } from '../sport.js';
import { type Known } from './title.js';
import { clock, distance, LEAST_WORDED_M, pacePerKm, speedWords } from './units.js';

export interface Told extends Known {
  readonly climbs: readonly ClimbPart[];
  readonly drift: number | null;
}

// Below this it is the weather of the day.
const DRIFT_WORTH_A_WORD = 1;
const MOST_STEPS = 6;

/** Some sentences for people: how it was built, how even it was, what the heart did. */
export function descriptionOf(told: Told): string {
  const sentences = [whole(told), frame(told), steps(told), evenness(told), hills(told), heart(told)];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

function whole({ facts, profile }: Told): string {
  const { distance_m, moving_time_s, elevation_gain_m } = facts;
  const parts = [
    ...(distance_m >= LEAST_WORDED_M ? [distance(distance_m)] : []),
    ...(moving_time_s >= 1 ? [clock(moving_time_s)] : []),
  ];
  if (parts.length === 0) return profile === 'unrecorded' ? 'Nothing was recorded.' : '';
  const up = elevation_gain_m >= 10 ? `, ${Math.round(elevation_gain_m)} m up` : '';
  return `${parts.join(' in ')}${up}.`;
}

function frame({ segments, facts }: Told): string {
  const family = familyOf(facts.sport_type);
  const words = (['warmup', 'cooldown'] as const).flatMap((kind) => {
    const segment = only(segments, kind);
    if (!segment) return [];
    const speed = speedWords(family, segment.average_pace_s_per_km, segment.average_watts);
    const at = speed === '' ? '' : ` at ${speed}`;
    return [`${kind === 'warmup' ? 'warm-up' : 'cool-down'} ${clock(segment.to_s - segment.from_s)}${at}`];
  });
  return sentence(words.join(', '));
}

function steps({ profile, segments }: Told): string {
  if (profile !== 'progression' || segments.length < 2 || segments.length > MOST_STEPS) return '';
  const paces = segments.flatMap(({ average_pace_s_per_km }) => average_pace_s_per_km ?? []);
  return paces.length > 1 ? `Steps: ${paces.map((pace) => pacePerKm(pace)).join(', ')}.` : '';
}

function evenness({ repetitions, facts }: Told): string {
  if (!repetitions || repetitions.spread_percent === null) return '';
  const what = familyOf(facts.sport_type) === 'ride' ? 'power' : 'pace';
  return `The repetitions' ${what} varied by ${repetitions.spread_percent} %.`;
}

function hills({ climbs, profile }: Told): string {
  if (climbs.length === 0 || profile === 'hills') return '';
  const highest = climbs.reduce((best, climb) => (climb.gain_m > best.gain_m ? climb : best));
  const number = climbs.length === 1 ? 'One climb' : `${climbs.length} climbs, the highest`;
  return `${number} of ${highest.gain_m} m over ${distance(highest.distance_m)} at ${highest.grade_percent} %.`;
}

function heart({ drift }: Told): string {
  if (drift === null || Math.abs(drift) < DRIFT_WORTH_A_WORD) return '';
  const direction = drift > 0 ? 'rose' : 'fell';
  return `Heart rate ${direction} by ${Math.abs(drift)} % for the same effort from the first half to the second.`;
}

function only(segments: readonly Segment[], kind: SegmentKind): Segment | undefined {
  return segments.find((segment) => segment.kind === kind);
}

function sentence(words: string): string {
  return words === '' ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
