import { setTimeout as pause } from 'node:timers/promises';
import { type Logger, OneAtATime } from '#platform';

// After this time, every replica refuses a revoked key, even while Postgres does not answer.
const KEPT_MS = 5_000;
// While keys are in use, they are loaded again in the background after this time, so that no request waits for them.
const REFRESH_MS = 2_000;
// Requests with unknown keys wait for the next load, so any number of them costs four statements a second in each process.
const LEAST_PAUSE_MS = 250;

interface Time {
  nowMs(): number;
  pause(ms: number): Promise<unknown>;
}

const PROCESS_TIME: Time = { nowMs: () => performance.now(), pause };

/**
 * All keys that are not revoked, as this process last loaded them. Operators make keys by hand, so there are few. A missing key counts as
 * unknown only after a load that began later than the request, so a new key works at once on every replica.
 *
 * A cache of single keys would not do: a sender of wrong keys, each different, would cause a statement per request.
 */
export class KnownKeys<Key> {
  private keys: ReadonlyMap<string, Key> = new Map();
  private loadedAtMs = -Infinity;
  private triedAtMs = -Infinity;
  private readonly loading = new OneAtATime<void>();

  constructor(
    /** The keys that are not revoked, by their hash. */
    private readonly load: () => Promise<ReadonlyMap<string, Key>>,
    private readonly logger: Logger,
    private readonly time = PROCESS_TIME,
  ) {}

  /** Returns the key if this process knows it. Undefined says nothing about the key. */
  recall(hash: string): Key | undefined {
    const ageMs = this.time.nowMs() - this.loadedAtMs;
    if (ageMs >= KEPT_MS) return undefined;
    const key = this.keys.get(hash);
    if (key && ageMs >= REFRESH_MS) this.refresh();
    return key;
  }

  /** Undefined if there is no such key. Throws the error of the load. */
  async find(hash: string): Promise<Key | undefined> {
    const askedAtMs = this.time.nowMs();
    for (;;) {
      const key = this.recall(hash);
      if (key || this.loadedAtMs >= askedAtMs) return key;
      await this.loadNext();
    }
  }

  /** The next request loads the keys again. */
  forget(): void {
    this.loadedAtMs = -Infinity;
  }

  private refresh(): void {
    this.loadNext().catch((err: unknown) =>
      this.logger.warn({ err }, 'service keys could not be loaded; requests try again'),
    );
  }

  private loadNext(): Promise<void> {
    return this.loading.run('all', async () => {
      const pauseMs = this.triedAtMs + LEAST_PAUSE_MS - this.time.nowMs();
      if (pauseMs > 0) await this.time.pause(pauseMs);
      // The age of the keys counts from the beginning of the load: the statement may have read the rows at any time since.
      const beganAtMs = this.time.nowMs();
      this.triedAtMs = beganAtMs;
      this.keys = await this.load();
      this.loadedAtMs = beganAtMs;
    });
  }
}
