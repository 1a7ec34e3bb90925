import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { VENDORS } from '#vendors';
import { type Usage } from './rate-headers.js';
import { realigned } from './realigned.js';
import { chargeableFromMs, guardMs, reopensAtMs, type Window, windowsAt } from './windows.js';

// Polar's windows at TIME_SCALE 1, with limits that a few calls reach.
const SCALE = 1;
const LIMITS: Readonly<Record<string, number>> = { '15min': 5, day: 14 };
const counters = VENDORS.polar.limits.counters.map((counter) => ({
  ...counter,
  limit: LIMITS[counter.window] ?? 0,
}));
const GUARD_MS = guardMs(SCALE, counters);
const TIMEOUT_MS = 5_000;

interface Charged {
  readonly keys: readonly string[];
  readonly windows: readonly Window[];
  readonly nowMs: number;
}

/** The counters as acquire.lua, refund.lua, settle.lua and realign.lua keep them. */
class ModelCounters {
  open: ReadonlyArray<Window | undefined> = [];
  private readonly counts = new Map<string, number>();

  /** Charges a call, or returns when the next one may be charged. */
  charge(nowMs: number): Charged | number {
    for (;;) {
      const current = windowsAt(counters, nowMs, SCALE, this.open);
      const fromMs = chargeableFromMs(nowMs, current, GUARD_MS);
      if (fromMs > nowMs) return fromMs;
      const { windows, areNew } = current;
      const keys = windows.map(({ id }, index) => `${index}:${id}`);
      const used = keys.map((key) => this.counts.get(key) ?? 0);
      const areEmpty = used.map((count, index) => count === 0 && !areNew[index]);
      if (areEmpty.includes(true)) {
        this.open = this.open.map((window, index) => (areEmpty[index] ? undefined : window));
        continue;
      }
      const full = windows.filter((_, index) => used[index]! >= counters[index]!.limit);
      if (full.length > 0) return Math.max(...full.map((window) => reopensAtMs(window, GUARD_MS)));
      for (const [index, key] of keys.entries()) this.counts.set(key, used[index]! + 1);
      this.open = windows;
      return { keys, windows, nowMs };
    }
  }

  giveBack({ keys }: Charged): void {
    for (const key of keys) this.counts.set(key, this.counts.get(key)! - 1);
  }

  settle(charged: Charged, answeredAtMs: number, usage: readonly Usage[]): void {
    const { keys, nowMs } = charged;
    const windows = charged.windows.map((window, index) => {
      const current = this.open[index];
      return current?.id === window.id ? current : window;
    });
    const corrected = realigned(counters, { windows, nowMs, answeredAtMs, usage, guardMs: GUARD_MS });
    for (const [index, key] of keys.entries())
      this.counts.set(key, Math.max(this.counts.get(key)!, usage[index]?.used ?? 0));
    this.open = this.open.map((open, index) =>
      open?.id === corrected[index]?.id && corrected[index]?.isAnswered ? corrected[index] : open,
    );
  }
}

/** Counts calls in windows. Each begins with the first call to arrive after the end of the previous window. */
class ModelVendor {
  /** For each counter, the most calls in one window. */
  readonly most = counters.map(() => 0);
  private readonly endsAtMs = counters.map(() => 0);
  private readonly used = counters.map(() => 0);

  constructor(private readonly round: (seconds: number) => number) {}

  receive(nowMs: number): Usage[] {
    return counters.map(({ bucket, window, seconds, limit }, index) => {
      if (nowMs >= this.endsAtMs[index]!) {
        this.endsAtMs[index] = nowMs + seconds * 1_000;
        this.used[index] = 0;
      }
      const used = (this.used[index]! += 1);
      this.most[index] = Math.max(this.most[index]!, used);
      const resetsInSeconds = this.round((this.endsAtMs[index]! - nowMs) / 1_000);
      return { bucket, window, limit, used, resetsInSeconds };
    });
  }
}

/** Runs events in the order of their times. */
class Timeline {
  private readonly events: Array<{ readonly atMs: number; readonly run: (nowMs: number) => void }> = [];

  at(atMs: number, run: (nowMs: number) => void): void {
    this.events.push({ atMs, run });
  }

  runUntil(endMs: number): void {
    for (;;) {
      const next = this.events.reduce<(typeof this.events)[number] | undefined>(
        (first, event) => (event.atMs <= endMs && (!first || event.atMs < first.atMs) ? event : first),
        undefined,
      );
      if (!next) return;
      this.events.splice(this.events.indexOf(next), 1);
      next.run(next.atMs);
    }
  }
}

const call = fc.record({
  /** The time from the call before: at once, some seconds, to the end of a window, or until a call is allowed again. */
  gap: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 300 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 10_000 }) },
    { weight: 1, arbitrary: fc.constant('to the end' as const) },
    { weight: 2, arbitrary: fc.constant('until allowed' as const) },
  ),
  beforeEndMs: fc.integer({ min: 0, max: 8_000 }),
  /** From the charge to the write; a permit of more than 2 s is given back. */
  waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_500 })),
  /** How far within the allowed time the request arrives. */
  travel: fc.double({ min: 0, max: 1, noNaN: true }),
  backMs: fc.integer({ min: 0, max: TIMEOUT_MS }),
  /** How far our clock may lag behind when the answer comes. */
  lagMs: fc.integer({ min: 0, max: 2_000 }),
  fate: fc.constantFrom('answered', 'answered', 'answered', 'unanswered', 'lost'),
});
type Call = typeof call extends fc.Arbitrary<infer One> ? One : never;

interface Setting {
  readonly calls: readonly Call[];
  readonly round: (seconds: number) => number;
}

/** Returns the most calls that the vendor counted in one window, by counter. `isSilent`: the vendor receives every call and answers none. */
function play({ calls, round }: Setting, isSilent: boolean): readonly number[] {
  const ours = new ModelCounters();
  const vendor = new ModelVendor(round);
  const timeline = new Timeline();

  const send = (charged: Charged, { travel, backMs, lagMs, fate }: Call, nowMs: number) => {
    const [quarter] = charged.windows as [Window];
    const isKnown = ours.open[0]?.id === quarter.id && ours.open[0].isAnswered === true;
    // Before the first answer a request may be slow, unless the window is about to end.
    const isEarly = nowMs - quarter.startsAtMs < 450_000;
    const longestMs = !isSilent && !isKnown && isEarly ? TIMEOUT_MS : GUARD_MS;
    if (fate === 'lost' && !isSilent)
      return timeline.at(nowMs + TIMEOUT_MS, (atMs) => ours.settle(charged, atMs, []));
    timeline.at(nowMs + Math.floor(travel * longestMs), (receivedMs) => {
      const usage = vendor.receive(receivedMs);
      const isAnswered = !isSilent && (fate === 'answered' || !isKnown);
      timeline.at(receivedMs + backMs, (atMs) =>
        ours.settle(charged, Math.max(charged.nowMs, atMs - lagMs), isAnswered ? usage : []),
      );
    });
  };

  let nowMs = 1_763_542_000_000;
  let allowedMs = nowMs;
  for (const one of calls) {
    if (typeof one.gap === 'number') nowMs += one.gap;
    else if (one.gap === 'until allowed') nowMs = Math.max(nowMs, allowedMs);
    else nowMs = Math.max(nowMs, (ours.open[0]?.endsAtMs ?? 0) - one.beforeEndMs);
    timeline.runUntil(nowMs);
    const charged = ours.charge(nowMs);
    if (typeof charged === 'number') {
      allowedMs = charged;
      continue;
    }
    const waitMs = isSilent ? Math.min(one.waitMs, GUARD_MS) : one.waitMs;
    timeline.at(nowMs + waitMs, (atMs) =>
      waitMs > GUARD_MS ? ours.giveBack(charged) : send(charged, one, atMs),
    );
  }
  timeline.runUntil(Infinity);
  return vendor.most;
}

describe('windows that begin with a request, at TIME_SCALE 1', () => {
  const setting = fc.record({
    calls: fc.array(call, { minLength: 30, maxLength: 150 }),
    round: fc.constantFrom(Math.ceil, Math.floor, Math.round),
  });

  it.each([
    ['first requests are slow, and later ones lost or unanswered', false],
    ['it answers nothing', true],
  ])('the vendor never counts more than its limits while %s (model)', (_, isSilent) => {
    let full = 0;
    fc.assert(
      fc.property(setting, (one) => {
        const [quarter = 0, day = 0] = play(one, isSilent);
        expect(quarter).toBeLessThanOrEqual(LIMITS['15min']!);
        expect(day).toBeLessThanOrEqual(LIMITS.day!);
        if (quarter === LIMITS['15min']) full += 1;
      }),
      { numRuns: 3_000 },
    );
    // Otherwise the model would prove nothing.
    expect(full).toBeGreaterThan(1_500);
  });
});
