interface Waiting {
  readonly owner: string;
  readonly begin: () => void;
}

/**
 * Runs at most `mostAtOnce` pieces of work at a time, and at most one for each owner. The longest waiting work begins first; work of an
 * owner whose other work is running waits.
 */
export class Turns {
  private readonly waiting: Waiting[] = [];
  private readonly owners = new Set<string>();

  constructor(private readonly mostAtOnce: number) {}

  /** If the signal aborts before the turn of the work, the work never begins. Work that has begun may watch the signal itself. */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.turn(owner, signal);
    try {
      return await work();
    } finally {
      this.owners.delete(owner);
      this.beginNext();
    }
  }

  private turn(owner: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.waiting.splice(this.waiting.indexOf(waiting), 1);
        reject(signal?.reason as Error);
      };
      const begin = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const waiting = { owner, begin };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.waiting.push(waiting);
      this.beginNext();
    });
  }

  private beginNext(): void {
    if (this.owners.size >= this.mostAtOnce) return;
    const at = this.waiting.findIndex(({ owner }) => !this.owners.has(owner));
    const [next] = at < 0 ? [] : this.waiting.splice(at, 1);
    if (!next) return;
    this.owners.add(next.owner);
    next.begin();
  }
}
