export interface TimeSource {
  nowMs(): number;
  /** Runs once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

// Node calls a longer timer at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const systemTime: TimeSource = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

export interface RateWindow {
  readonly id: number;
  readonly startsAtMs: number;
  readonly resetsAtMs: number;
}

/**
 * The vendors' time. Timestamps are real; durations are divided by the scale. At scale 900 a 15-minute window lasts one
 * second. Ids of 15-minute windows are `floor(unix * scale / 900)`, so that simulator and product agree on every boundary.
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

  /** Converts a vendor's duration, such as a retry delay or a lifetime, to real milliseconds. Network time-outs are not scaled. */
  scaledMs(ms: number): number {
    return ms / this.scale;
  }

  /** The present aligned window of length `seconds`. The vendor's clock is ahead by `offsetMs` real milliseconds. */
  window(seconds: number, offsetMs = 0): RateWindow {
    const lengthMs = (seconds * 1000) / this.scale;
    const id = Math.floor(((this.nowMs() + offsetMs) * this.scale) / (seconds * 1000));
    return { id, startsAtMs: id * lengthMs - offsetMs, resetsAtMs: (id + 1) * lengthMs - offsetMs };
  }

  /** A window of `seconds` that begins now, for a vendor whose windows begin with the first call. */
  windowFromNow(seconds: number): RateWindow {
    const startsAtMs = this.nowMs();
    return { id: startsAtMs, startsAtMs, resetsAtMs: startsAtMs + this.scaledMs(seconds * 1000) };
  }

  after(delayMs: number, run: () => void): () => void {
    return this.time.after(delayMs, run);
  }
}

/** Runs a network call and aborts it after `timeoutMs`. Network time-outs are not scaled. */
export async function withDeadline<Result>(
  clock: VendorClock,
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const cancel = clock.after(timeoutMs, () => controller.abort());
  try {
    return await call(controller.signal);
  } finally {
    cancel();
  }
}
