export interface TimeSource {
  nowMs(): number;
  /** Runs once after `delayMs`; the returned function takes it back. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemTime: TimeSource = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export interface AlignedWindow {
  readonly id: number;
  readonly startsAtMs: number;
  readonly resetsAtMs: number;
}

/**
 * The vendors' time: moments are real, patience is divided by the scale. At scale 900 a 15-minute window lasts one
 * second and window ids are `floor(unix * scale / 900)`, so both sides of the wire agree on every boundary.
 */
export class VendorClock {
  constructor(
    readonly scale = 1,
    private readonly time: TimeSource = systemTime,
  ) {
    if (!(scale > 0)) throw new RangeError(`TIME_SCALE must be above 0, not ${scale}`);
  }

  nowMs(): number {
    return this.time.nowMs();
  }

  nowSeconds(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** A vendor duration (retry delay, lifetime, lateness) in real milliseconds. Network time-outs are not scaled. */
  scaledMs(ms: number): number {
    return ms / this.scale;
  }

  /** The aligned window of `seconds` we are in, as a vendor whose clock is ahead by `offsetMs` sees it. */
  window(seconds: number, offsetMs = 0): AlignedWindow {
    const lengthMs = (seconds * 1000) / this.scale;
    const id = Math.floor(((this.nowMs() + offsetMs) * this.scale) / (seconds * 1000));
    return { id, startsAtMs: id * lengthMs - offsetMs, resetsAtMs: (id + 1) * lengthMs - offsetMs };
  }

  after(delayMs: number, run: () => void): () => void {
    return this.time.after(delayMs, run);
  }
}
