import { type CounterPolicy } from './policy.js';

/** A vendor's window: aligned to the epoch, as every vendor with windows does it. */
export interface Window {
  readonly id: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** The windows around one moment, one per counter of the policy. */
export interface Windows {
  readonly windows: readonly Window[];
  /** When they may be charged: not near a boundary, where the vendor's clock may have it otherwise. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export function windowAt(nowMs: number, seconds: number, scale: number): Window {
  const id = Math.floor((nowMs * scale) / (seconds * 1_000));
  return { id, startsAtMs: (id * seconds * 1_000) / scale, endsAtMs: ((id + 1) * seconds * 1_000) / scale };
}

const GUARD_MS = 2_000;
const SHORTEST_GUARD_MS = 50;

/** How far our clock and the vendor's may be apart: that near to a boundary nothing is spent. */
export function guardMs(scale: number, counters: readonly CounterPolicy[] = []): number {
  const shortestMs = Math.min(...counters.map(({ seconds }) => (seconds * 1_000) / scale));
  // Where a scaled window is hardly longer than that, most of it has to stay chargeable.
  return Math.min(Math.max(SHORTEST_GUARD_MS, GUARD_MS / scale), shortestMs / 8);
}

export function windowsAt(counters: readonly CounterPolicy[], nowMs: number, scale: number): Windows {
  const windows = counters.map(({ seconds }) => windowAt(nowMs, seconds, scale));
  const guard = guardMs(scale, counters);
  return {
    windows,
    fromMs: Math.max(...windows.map(({ startsAtMs }) => startsAtMs)) + guard,
    // Granted before this, a permit is used within one guard more, and even then a guard away from the boundary.
    untilMs: Math.min(...windows.map(({ endsAtMs }) => endsAtMs)) - 2 * guard,
  };
}

/** That moment, or the end of the guard it falls into. */
export function chargeableFromMs(counters: readonly CounterPolicy[], nowMs: number, scale: number): number {
  const { fromMs, untilMs } = windowsAt(counters, nowMs, scale);
  if (nowMs < fromMs) return fromMs;
  return nowMs < untilMs ? nowMs : untilMs + 3 * guardMs(scale, counters);
}
