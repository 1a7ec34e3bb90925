import { type Plan } from '../find/plan.js';
import { type Repetitions } from '../run-shape.js';
import { mean, median, spread } from '../signal/statistics.js';
import { type Track } from '../signal/track.js';
import { type SportFamily } from '../sport.js';
import { commonLength } from './common-length.js';
import { rounded } from './rounding.js';
import { factsOfStretch, type StretchFacts } from './stretch-facts.js';

/** Null unless there are at least two. */
export function repetitionsOf(
  track: Track,
  { bouts, profile }: Plan,
  family: SportFamily,
): Repetitions | null {
  if (bouts.length < 2) return null;
  const works = bouts.map(({ from, to }) => factsOfStretch(track, from, to));
  const rests = bouts.slice(1).map(({ from }, index) => factsOfStretch(track, bouts[index]!.to, from));
  const isByTime = family === 'ride' || profile === 'hills';
  const lengths = commonLength(
    works.map(({ metres }) => metres),
    works.map(({ fromS, toS }) => toS - fromS),
    isByTime,
  );
  const paces = known(works, ({ paceSPerKm }) => paceSPerKm);
  const watts = known(works, ({ watts: power }) => power);
  const steered = family === 'ride' ? watts : paces;
  return {
    count: bouts.length,
    ...lengths,
    average_pace_s_per_km: paces.length > 0 ? rounded(mean(paces), 1) : null,
    average_watts: watts.length > 0 ? rounded(mean(watts), 0) : null,
    spread_percent: steered.length > 1 ? rounded(100 * spread(steered), 1) : null,
    recovery_s: rounded(median(rests.map(({ fromS, toS }) => toS - fromS)), 0),
    recovery: isStanding(rests) ? 'standing' : 'active',
  };
}

function known(works: readonly StretchFacts[], valueOf: (work: StretchFacts) => number | null): number[] {
  return works.flatMap((work) => valueOf(work) ?? []);
}

function isStanding(rests: readonly StretchFacts[]): boolean {
  return median(rests.map(({ fromS, toS, movingS }) => movingS / Math.max(1, toS - fromS))) < 0.5;
}
