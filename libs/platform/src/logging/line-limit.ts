/** Allows one log line in `everyMs`, for an event that callers can cause any number of times. */
export class LineLimit {
  private nextAtMs = -Infinity;
  private withoutLine = 0;

  constructor(private readonly everyMs: number) {}

  /** Undefined if this event must not be logged; otherwise the number of events without a line since the previous line. */
  admit(nowMs = performance.now()): number | undefined {
    if (nowMs < this.nextAtMs) {
      this.withoutLine += 1;
      return undefined;
    }
    this.nextAtMs = nowMs + this.everyMs;
    const skipped = this.withoutLine;
    this.withoutLine = 0;
    return skipped;
  }
}
