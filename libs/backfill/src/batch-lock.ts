import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { LOGGER, type Logger, LuaScript, REDIS, TIME_SCALE, type TimeScale } from '#platform';

const TTL_MS = 20 * 60_000;
// A scaled one must still outlive a call to the vendor and what comes of it.
const SHORTEST_TTL_MS = 12_000;

const releaseLock = new LuaScript<number>(import.meta.url, './lua/release-lock.lua');
const renewLock = new LuaScript<number>(import.meta.url, './lua/renew-lock.lua');

/** The right to one batch of an athlete's. Claims keep a second worker harmless; the lock keeps it from useless work. */
export interface BatchLock {
  /** False: it was lost, to another or with Redis. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** One that Redis went away with is given back when it returns: its athlete is not to wait for the lock's end. */
@Injectable()
export class BatchLocks {
  private readonly ttlMs: number;
  /** Keys by token, of locks that may still be ours though nobody wants them any more. */
  private readonly owed = new Map<string, string>();

  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(TIME_SCALE) scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.ttlMs = Math.ceil(Math.max(SHORTEST_TTL_MS, scale.guard(TTL_MS)));
    redis.on('ready', () => void this.giveBack());
  }

  async take(athleteId: string): Promise<BatchLock | undefined> {
    const key = `strava:stream_backfill:${athleteId}`;
    const token = randomUUID();
    const release = () => releaseLock.run(this.redis, [key], [token]);
    const taken = await this.orOwe(key, token, () => this.redis.set(key, token, 'PX', this.ttlMs, 'NX'));
    if (taken === null) return undefined;
    return {
      renew: async () => (await renewLock.run(this.redis, [key], [token, this.ttlMs])) === 1,
      release: async () => void (await this.orOwe(key, token, release)),
    };
  }

  /** A command without an answer may have been obeyed, or not. */
  private async orOwe<T>(key: string, token: string, command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      this.owed.set(token, key);
      throw error;
    }
  }

  private async giveBack(): Promise<void> {
    try {
      for (const [token, key] of this.owed) {
        await releaseLock.run(this.redis, [key], [token]);
        this.owed.delete(token);
      }
    } catch (err) {
      this.logger.warn({ err }, 'locks of backfills not given back yet');
    }
  }
}
