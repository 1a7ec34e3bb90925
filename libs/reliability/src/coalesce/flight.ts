import { AppError } from '#platform';

/** A newer intent of the same client replaced this one. */
export class Superseded extends AppError {
  override readonly code = 'REQUEST_SUPERSEDED';
  override readonly kind = 'conflict';
  constructor() {
    super('A newer request of the same client has superseded this one');
  }
}

/** The caller's own deadline passed; the work may go on for other callers. */
export class DeadlineExceeded extends AppError {
  override readonly code = 'DEADLINE_EXCEEDED';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
  constructor() {
    super('No answer in time');
  }
}

/**
 * One piece of work that callers in this process wait for. A flight ends when the work has an outcome, when a newer flight
 * supersedes it, or when the last caller stops waiting. When the flight ends, its signal aborts.
 */
export class Flight {
  private readonly ended = new AbortController();
  private readonly outcome: Promise<unknown>;
  private settle!: { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void };
  private waiting = 0;
  private lastDeadlineAtMs = 0;

  constructor(private readonly onEnd: () => void) {
    this.outcome = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    // The outcome may reject while no caller waits. This must not become an unhandled rejection.
    this.outcome.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.ended.signal;
  }

  /** Time until the latest deadline of all callers so far, at least 1 ms. */
  get msLeft(): number {
    return Math.max(1, Math.ceil(this.lastDeadlineAtMs - performance.now()));
  }

  /** Waits for the outcome. Deadline and signal end this caller's wait only. */
  wait(deadlineMs: number, signal?: AbortSignal): Promise<unknown> {
    this.waiting += 1;
    this.lastDeadlineAtMs = Math.max(this.lastDeadlineAtMs, performance.now() + deadlineMs);
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      const stopWaiting = (): boolean => {
        if (!isWaiting) return false;
        isWaiting = false;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.waiting -= 1;
        return true;
      };
      const giveUp = (reason: Error) => {
        if (!stopWaiting()) return;
        reject(reason);
        if (this.waiting === 0) this.end(() => this.settle.reject(reason), reason);
      };
      const onAbort = () => giveUp(signal?.reason as Error);
      const timer = setTimeout(() => giveUp(new DeadlineExceeded()), deadlineMs);
      // A waiting caller must not keep the process alive.
      timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.outcome.then(
        (value) => stopWaiting() && resolve(value),
        (error: Error) => stopWaiting() && reject(error),
      );
    });
  }

  succeed(value: unknown): void {
    this.end(() => this.settle.resolve(value));
  }

  fail(error: unknown): void {
    this.end(() => this.settle.reject(error), error);
  }

  supersede(): void {
    this.fail(new Superseded());
  }

  private end(settle: () => void, reason?: unknown): void {
    if (this.signal.aborted) return;
    settle();
    this.ended.abort(reason);
    this.onEnd();
  }
}
