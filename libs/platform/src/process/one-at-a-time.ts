/**
 * Callers with the same key share one running piece of work and its outcome, also its error. Outcomes are not cached: a later call runs the
 * work again. Callers in different processes share nothing.
 */
export class OneAtATime<T> {
  private readonly running = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.running.get(key);
    if (running) return running;
    const promise = work().finally(() => this.running.delete(key));
    this.running.set(key, promise);
    return promise;
  }
}

/**
 * Waits for all promises, then throws the error of the first one in the list that failed. When this function returns or throws, none of the
 * promises is pending.
 */
export async function allSettled(works: ReadonlyArray<Promise<unknown>>): Promise<void> {
  for (const outcome of await Promise.allSettled(works))
    if (outcome.status === 'rejected') throw outcome.reason;
}
