import { type TimeSource } from './clock.js';

interface Timer {
  dueAtMs: number;
  run: () => void;
}

/** A clock that only `advance` moves, so that tests cross windows and retry delays without waiting. */
export class ManualTime implements TimeSource {
  private timers: Timer[] = [];

  private currentMs: number;

  constructor(private readonly startMs = Date.UTC(2026, 10, 18, 14, 0, 0)) {
    this.currentMs = startMs;
  }

  /** Returns to the start and drops all timers. */
  rewind(): void {
    this.timers = [];
    this.currentMs = this.startMs;
  }

  nowMs(): number {
    return this.currentMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { dueAtMs: this.currentMs + delayMs, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  get pendingTimers(): number {
    return this.timers.length;
  }

  advance(ms: number): void {
    const untilMs = this.currentMs + ms;
    for (let next = this.nextDue(untilMs); next; next = this.nextDue(untilMs)) {
      this.timers = this.timers.filter((other) => other !== next);
      this.currentMs = next.dueAtMs;
      next.run();
    }
    this.currentMs = untilMs;
  }

  private nextDue(untilMs: number): Timer | undefined {
    return this.timers.filter(({ dueAtMs }) => dueAtMs <= untilMs).sort((a, b) => a.dueAtMs - b.dueAtMs)[0];
  }
}
