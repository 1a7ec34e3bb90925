import { AGREED, type ClockDifference, shiftOf } from './clock-difference.js';
import { beginsWithRequest, type CounterPolicy } from './policy.js';

/** One window of a vendor. */
export interface Window {
  /** The number of a window since 1970, if it is aligned to the epoch. Otherwise a number that grows: about the ms at which it began. */
  readonly id: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  /** The vendor received the request that began this window later: its window ends at most this much later. Absent if aligned to the epoch. */
  readonly lateMs?: number;
  /** An answer has shown `lateMs`. Until then it is an estimate. Absent if aligned to the epoch. */
  readonly isAnswered?: boolean;
}

/** The windows that contain one moment, one per counter of the policy. */
export interface Windows {
  readonly windows: readonly Window[];
  /** For each counter: true if a charge would begin the window. */
  readonly areNew: readonly boolean[];
  /** Calls are charged to these windows only from `fromMs` to `untilMs`: near a boundary the vendor may already be in another window. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** For each window, until when calls may be charged to it. `untilMs` is the first of these. */
  readonly untilsMs: readonly number[];
}

/** The windows that began with a request, by the position of their counters. Some of them may have ended. */
export type OpenWindows = ReadonlyArray<Window | undefined>;

/** The windows of a call that is charged on both sides of each boundary that is near. */
export interface StraddledWindows extends Windows {
  /** For each counter the neighbour window, if a boundary is near. */
  readonly neighbours: ReadonlyArray<Window | undefined>;
}

export function windowAt(nowMs: number, seconds: number, scale: number): Window {
  return windowOf(Math.floor((nowMs * scale) / (seconds * 1_000)), seconds, scale);
}

function windowOf(id: number, seconds: number, scale: number): Window {
  return { id, startsAtMs: (id * seconds * 1_000) / scale, endsAtMs: ((id + 1) * seconds * 1_000) / scale };
}

/** No permit is fresh for longer. */
export const LONGEST_GUARD_MS = 2_000;
/**
 * A caller that waits this long gets past a boundary on the clock. No call is charged for two guards before it and one after it, and the
 * request for a permit takes up to a second itself. The end of a window that began with a request may take longer.
 */
export const BOUNDARY_WAIT_MS = 3 * LONGEST_GUARD_MS + 1_000;
/** How often work that calls vendors looks for due rows. It is no multiple of a window's length: otherwise every look could fall near a boundary. */
export const LOOK_FOR_DUE_MS = 53_000;
const SHORTEST_GUARD_MS = 50;
// Until an answer shows when the vendor's window began: the permit of the first request stays fresh for 2 s, the request takes up to 2 s, and
// if the permit is given back, the next request begins the vendor's window up to 2 s later. A network takes as long at any TIME_SCALE.
const UNANSWERED_LATE_MS = 6_000;

/** The tolerated difference between our clock and the vendor's clock. No call is charged that near to a window boundary. */
export function guardMs(scale: number, counters: readonly CounterPolicy[] = []): number {
  // A scaled window may be hardly longer than the guard, but calls must be possible in most of the window.
  return Math.min(Math.max(SHORTEST_GUARD_MS, LONGEST_GUARD_MS / scale), shortestMs(counters, scale) / 8);
}

/**
 * How long a permit stays fresh: for one guard, and for 50 ms at least, as long as a busy process takes to write a request. Only a high TIME_SCALE
 * has shorter guards. There a late request may count in the vendor's next window.
 */
export function freshMs(guard: number): number {
  return Math.max(SHORTEST_GUARD_MS, guard);
}

function shortestMs(counters: readonly CounterPolicy[], scale: number): number {
  return Math.min(...counters.map(({ seconds }) => (seconds * 1_000) / scale));
}

/** The window that a request at `startsAtMs` begins. */
export function windowFrom(
  startsAtMs: number,
  counter: CounterPolicy,
  counters: readonly CounterPolicy[],
  scale: number,
): Window {
  // A window of a high TIME_SCALE is shorter than that estimate, and calls must be possible at least half of the time.
  const lateMs = Math.ceil(Math.min(UNANSWERED_LATE_MS, shortestMs(counters, scale)));
  const id = Math.floor(startsAtMs);
  return {
    id,
    startsAtMs,
    endsAtMs: startsAtMs + (counter.seconds * 1_000) / scale,
    lateMs,
    isAnswered: false,
  };
}

/** The window of one counter, and from when until when calls may be charged to it. */
interface Span {
  readonly window: Window;
  readonly isNew: boolean;
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Surroundings {
  readonly counters: readonly CounterPolicy[];
  readonly scale: number;
  readonly difference: ClockDifference;
}

function spanAt(
  counter: CounterPolicy,
  nowMs: number,
  last: Window | undefined,
  { counters, scale, difference }: Surroundings,
): Span {
  const guard = guardMs(scale, counters);
  // A permit stays fresh for one guard. A request sent at the end of that time is still one guard before the boundary.
  const span = (window: Window, fromMs: number, isNew = false): Span => ({
    ...{ window, isNew, fromMs },
    untilMs: window.endsAtMs - 2 * guard,
  });
  if (!beginsWithRequest(counter)) {
    const window = windowAt(nowMs, counter.seconds, scale);
    // If the vendor's clock differs, a call is charged to this window alone only while the vendor is in it as well.
    const shiftMs = shiftOf(difference, (counter.seconds * 1_000) / scale);
    const { untilMs, ...rest } = span(window, window.startsAtMs + guard + Math.max(0, shiftMs));
    return { ...rest, untilMs: untilMs + Math.min(0, shiftMs) };
  }
  // From 0: if Redis' clock was set back, calls go on in this window, and the next answer says where it ends.
  if (last && nowMs < reopensAtMs(last, guard)) return span(last, 0);
  const begun = windowFrom(nowMs, counter, counters, scale);
  // Two windows of one counter never have the same id.
  const window = { ...begun, id: Math.max(begun.id, (last?.id ?? 0) + 1) };
  return span(window, last ? reopensAtMs(last, guard) : 0, true);
}

export function windowsAt(
  counters: readonly CounterPolicy[],
  nowMs: number,
  scale: number,
  open: OpenWindows = [],
  difference = AGREED,
): Windows {
  const around = { counters, scale, difference };
  return together(counters.map((counter, index) => spanAt(counter, nowMs, open[index], around)));
}

function together(spans: readonly Span[]): Windows {
  return {
    windows: spans.map(({ window }) => window),
    areNew: spans.map(({ isNew }) => isNew),
    fromMs: Math.max(...spans.map(({ fromMs }) => fromMs)),
    untilMs: Math.min(...spans.map(({ untilMs }) => untilMs)),
    untilsMs: spans.map(({ untilMs }) => untilMs),
  };
}

/**
 * The windows at `nowMs`, and near a boundary also those on its other side. A call that is charged to all of them is counted, whichever the
 * vendor is in. Windows that begin with a request are as in `windowsAt`: the call might begin the vendor's next window, which we would
 * not know.
 */
export function straddledAt(
  counters: readonly CounterPolicy[],
  nowMs: number,
  scale: number,
  open: OpenWindows = [],
  difference = AGREED,
): StraddledWindows {
  const spans = counters.map((counter, index) => {
    const span = spanAt(counter, nowMs, open[index], { counters, scale, difference });
    const { window, fromMs, untilMs } = span;
    if (beginsWithRequest(counter)) return span;
    const neighbour = (by: number) => windowOf(window.id + by, counter.seconds, scale);
    if (nowMs >= untilMs)
      return { ...span, neighbour: neighbour(1), fromMs: untilMs, untilMs: window.endsAtMs };
    if (nowMs < fromMs)
      return { ...span, neighbour: neighbour(-1), fromMs: window.startsAtMs, untilMs: fromMs };
    return span;
  });
  const neighbours = spans.map((span) => ('neighbour' in span ? span.neighbour : undefined));
  return { ...together(spans), neighbours };
}

/** The vendor's window at `nowMs`, which lies in `window` or near it, if the vendor's windows begin later than ours by `shiftMs`. */
export function shifted(window: Window, shiftMs: number, nowMs: number): Window {
  if (shiftMs === 0) return window;
  const lengthMs = window.endsAtMs - window.startsAtMs;
  const startsAtMs = window.startsAtMs + shiftMs;
  const by = Math.floor((nowMs - startsAtMs) / lengthMs) * lengthMs;
  return { ...window, startsAtMs: startsAtMs + by, endsAtMs: startsAtMs + by + lengthMs };
}

/** When calls may be charged to the window that follows. */
export function reopensAtMs({ endsAtMs, lateMs }: Window, guard: number): number {
  return endsAtMs + (lateMs ?? guard);
}

/** The next time at which a call may be charged: `nowMs`, or the end of the guarded span if `nowMs` is near a boundary. */
export function chargeableFromMs(
  nowMs: number,
  { windows, fromMs, untilMs, untilsMs }: Windows,
  guard: number,
): number {
  if (nowMs < fromMs) return fromMs;
  if (nowMs < untilMs) return nowMs;
  const ending = windows.filter((_, index) => nowMs >= (untilsMs[index] ?? Infinity));
  return Math.max(...ending.map((window) => reopensAtMs(window, guard)));
}
