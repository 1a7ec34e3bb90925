/** A vendor's window: aligned to the epoch, as every vendor with windows does it. */
export interface Window {
  readonly id: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export function windowAt(nowMs: number, seconds: number, scale: number): Window {
  const id = Math.floor((nowMs * scale) / (seconds * 1_000));
  return { id, startsAtMs: (id * seconds * 1_000) / scale, endsAtMs: ((id + 1) * seconds * 1_000) / scale };
}

const GUARD_MS = 2_000;
const SHORTEST_GUARD_MS = 50;

/** How far our clock and the vendor's may be apart: that near to a boundary nothing is spent. */
export function guardMs(scale: number): number {
  return Math.max(SHORTEST_GUARD_MS, GUARD_MS / scale);
}
