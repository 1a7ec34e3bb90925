import { DeadlineExceeded, Superseded } from './coalesce.errors.js';

/**
 * What some in this process wait for. It is over with its outcome, when a newer one supersedes it, or when nobody waits any
 * more; its signal then ends, with the reason.
 */
export class Flight {
  private readonly over = new AbortController();
  private readonly outcome: Promise<unknown>;
  private settle!: { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void };
  private waiting = 0;
  private lastDeadlineAtMs = 0;

  constructor(private readonly onOver: () => void) {
    this.outcome = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    // It may be over before anybody waits, or after the last has gone.
    this.outcome.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** Until the last of those who wait gives up. */
  get msLeft(): number {
    return Math.max(1, Math.ceil(this.lastDeadlineAtMs - performance.now()));
  }

  /** Everybody has a deadline and a signal of their own, which end the waiting of nobody else. */
  wait(deadlineMs: number, signal?: AbortSignal): Promise<unknown> {
    this.waiting += 1;
    this.lastDeadlineAtMs = Math.max(this.lastDeadlineAtMs, performance.now() + deadlineMs);
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      const leave = (): boolean => {
        if (!isWaiting) return false;
        isWaiting = false;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.waiting -= 1;
        return true;
      };
      const giveUp = (reason: Error) => {
        if (!leave()) return;
        reject(reason);
        if (this.waiting === 0) this.end(() => this.settle.reject(reason), reason);
      };
      const onAbort = () => giveUp(signal?.reason as Error);
      const timer = setTimeout(() => giveUp(new DeadlineExceeded()), deadlineMs);
      // The end of the process waits for nobody.
      timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.outcome.then(
        (value) => leave() && resolve(value),
        (error: Error) => leave() && reject(error),
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
    this.over.abort(reason);
    this.onOver();
  }
}
