/** Redis' clock minus the vendor's, as far as answers have shown: from `leastMs` to `mostMs`. */
export interface ClockDifference {
  readonly leastMs: number;
  readonly mostMs: number;
}

// A `Date` header has whole seconds, cut off.
const RESOLUTION_MS = 1_000;
/** Clocks that differ by less count as equal. The guard beside each boundary covers this. */
export const AGREED: ClockDifference = { leastMs: -1_000, mostMs: 1_000 };

/** The moments between which the vendor wrote an answer, by Redis' clock. */
interface Answered {
  readonly chargedAtMs: number;
  readonly answeredAtMs: number;
}

/** `dateMs`: the answer's `Date`. The slower the call, the wider the result. */
export function differenceShownBy(dateMs: number, { chargedAtMs, answeredAtMs }: Answered): ClockDifference {
  return {
    leastMs: Math.floor(Math.min(chargedAtMs, answeredAtMs) - dateMs - RESOLUTION_MS),
    mostMs: Math.ceil(answeredAtMs - dateMs),
  };
}

/**
 * The difference to assume after an answer. It stays as it is until an answer contradicts it, since the range of a slow answer is wide, or
 * narrows it to half. Otherwise a slow first answer would count for good.
 */
export function corrected(known: ClockDifference, shown: ClockDifference): ClockDifference {
  if (!overlap(known, shown)) return overlap(AGREED, shown) ? AGREED : shown;
  return !areEqual(known, AGREED) && 2 * widthOf(shown) <= widthOf(known) ? shown : known;
}

const widthOf = ({ leastMs, mostMs }: ClockDifference) => mostMs - leastMs;

const overlap = (one: ClockDifference, other: ClockDifference) =>
  one.leastMs <= other.mostMs && other.leastMs <= one.mostMs;

export const areEqual = (one: ClockDifference, other: ClockDifference) =>
  one.leastMs === other.leastMs && one.mostMs === other.mostMs;

/**
 * How much later than ours the vendor's windows of this length begin, by Redis' clock: from minus half a length to half a length. The result
 * is the end of the range that is further from 0. A difference of whole windows counts as 0: a clock that is wrong by a day has the same
 * boundaries. The result is 0 if the range is too wide for such short windows.
 */
export function shiftOf(difference: ClockDifference, lengthMs: number): number {
  const [least, most] = shiftsOf(difference, lengthMs);
  return least + most > 0 ? Math.min(most, lengthMs / 2) : Math.max(least, -lengthMs / 2);
}

/** Like `shiftOf`, but always the latest end of the range: a window that is closed until then is never the one after the vendor's. */
export function latestShiftOf(difference: ClockDifference, lengthMs: number): number {
  const [, most] = shiftsOf(difference, lengthMs);
  return Math.min(most, lengthMs / 2);
}

function shiftsOf({ leastMs, mostMs }: ClockDifference, lengthMs: number): readonly [number, number] {
  const widthMs = mostMs - leastMs;
  if (widthMs > lengthMs / 4) return [0, 0];
  const middle = (leastMs + mostMs) / 2;
  const shiftMs = middle - Math.round(middle / lengthMs) * lengthMs;
  const [least, most] = [shiftMs - widthMs / 2, shiftMs + widthMs / 2];
  return least <= AGREED.mostMs && most >= AGREED.leastMs ? [0, 0] : [least, most];
}

/** The difference in seconds, 0 if the clocks agree. */
export const secondsOf = ({ leastMs, mostMs }: ClockDifference) => Math.round((leastMs + mostMs) / 200) / 10;

const TEXT = /^~(-?\d+)\.\.(-?\d+)$/;

/** The part of the Redis key's text that has the difference. Empty if the clocks agree. */
export const differenceText = (difference: ClockDifference) =>
  areEqual(difference, AGREED) ? '' : `~${difference.leastMs}..${difference.mostMs}`;

export function parseDifference(text: string | undefined): ClockDifference {
  const [, least, most] = TEXT.exec(text ?? '') ?? [];
  return least === undefined ? AGREED : { leastMs: Number(least), mostMs: Number(most) };
}
