import { type ClimbPart, type Segment, type SegmentKind } from '../run-shape.js';
import { familyOf } from '../sport.js';
import { type WordingInput } from './title.js';
import { clock, distance, LEAST_WORDED_M, pacePerKm, speedWords } from './units.js';

interface DescriptionInput extends WordingInput {
  readonly climbs: readonly ClimbPart[];
  readonly drift: number | null;
}

// The description leaves out a smaller drift.
const LEAST_DRIFT_PERCENT = 1;
const MOST_STEPS = 6;

/** A few sentences about totals, warm-up and cool-down, steps, evenness, climbs and heart-rate drift, in this order. */
export function descriptionOf(input: DescriptionInput): string {
  const sentences = [
    totals(input),
    warmUpAndCoolDown(input),
    steps(input),
    evenness(input),
    hills(input),
    heart(input),
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

function totals({ facts, profile }: DescriptionInput): string {
  const { distance_m, moving_time_s, elevation_gain_m } = facts;
  const parts = [
    ...(distance_m >= LEAST_WORDED_M ? [distance(distance_m)] : []),
    ...(moving_time_s >= 1 ? [clock(moving_time_s)] : []),
  ];
  if (parts.length === 0) return profile === 'unrecorded' ? 'Nothing was recorded.' : '';
  const up = elevation_gain_m >= 10 ? `, ${Math.round(elevation_gain_m)} m up` : '';
  return `${parts.join(' in ')}${up}.`;
}

function warmUpAndCoolDown({ segments, facts }: DescriptionInput): string {
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

function steps({ profile, segments }: DescriptionInput): string {
  if (profile !== 'progression' || segments.length < 2 || segments.length > MOST_STEPS) return '';
  const paces = segments.flatMap(({ average_pace_s_per_km }) => average_pace_s_per_km ?? []);
  return paces.length > 1 ? `Steps: ${paces.map((pace) => pacePerKm(pace)).join(', ')}.` : '';
}

function evenness({ repetitions, facts }: DescriptionInput): string {
  if (!repetitions || repetitions.spread_percent === null) return '';
  const quantity = familyOf(facts.sport_type) === 'ride' ? 'power' : 'pace';
  return `The repetitions' ${quantity} varied by ${repetitions.spread_percent} %.`;
}

function hills({ climbs, profile }: DescriptionInput): string {
  if (climbs.length === 0 || profile === 'hills') return '';
  const highest = climbs.reduce((best, climb) => (climb.gain_m > best.gain_m ? climb : best));
  const number = climbs.length === 1 ? 'One climb' : `${climbs.length} climbs, the highest`;
  return `${number} of ${highest.gain_m} m over ${distance(highest.distance_m)} at ${highest.grade_percent} %.`;
}

function heart({ drift }: DescriptionInput): string {
  if (drift === null || Math.abs(drift) < LEAST_DRIFT_PERCENT) return '';
  const direction = drift > 0 ? 'rose' : 'fell';
  return `Heart rate ${direction} by ${Math.abs(drift)} % for the same effort from the first half to the second.`;
}

function only(segments: readonly Segment[], kind: SegmentKind): Segment | undefined {
  return segments.find((segment) => segment.kind === kind);
}

function sentence(words: string): string {
  return words === '' ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
