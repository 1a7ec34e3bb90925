import { Gauge } from 'prom-client';
import { AppError } from '#platform';

const observed = new Map<string, { readonly count: number }>();

new Gauge({
  name: 'changes_readers',
  help: 'Readers of this process that wait for changes, by kind: poll, stream or operator',
  labelNames: ['kind'],
  collect() {
    for (const [kind, { count }] of observed) this.set({ kind }, count);
  },
});

export function observeReaders(
  kind: 'poll' | 'stream' | 'operator',
  places: { readonly count: number },
): void {
  observed.set(kind, places);
}

/** Too many readers wait for changes. */
class TooManyReaders extends AppError {
  override readonly code = 'TOO_MANY_READERS';
  override readonly kind = 'busy';
  override readonly retryAfterSeconds = 5;
}

/** The athlete for whom a reader takes a place, or the service key that reads the changes of all athletes. */
export interface Owner {
  readonly name: string;
  readonly isKey?: boolean;
}

export const MOST_OF_ATHLETE = 5;
// A backend has several processes, and all of them use one key.
const MOST_OF_KEY = 50;

/** The places for readers that wait, in this process. */
export class Places {
  private readonly byOwner = new Map<string, number>();
  private taken = 0;

  constructor(private readonly most: number) {}

  get count(): number {
    return this.taken;
  }

  /** Returns a function that leaves the place. Throws TooManyReaders. */
  take({ name, isKey = false }: Owner): () => void {
    const ofOwner = this.byOwner.get(name) ?? 0;
    const most = isKey ? MOST_OF_KEY : MOST_OF_ATHLETE;
    if (ofOwner >= most)
      throw new TooManyReaders(`At most ${most} of your readers may wait for changes: end one first`);
    if (this.taken >= this.most)
      throw new TooManyReaders('Too many readers wait for changes: try again later');
    this.taken += 1;
    this.byOwner.set(name, ofOwner + 1);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      this.leave(name);
    };
  }

  private leave(name: string): void {
    this.taken -= 1;
    const left = (this.byOwner.get(name) ?? 0) - 1;
    if (left > 0) this.byOwner.set(name, left);
    else this.byOwner.delete(name);
  }
}
