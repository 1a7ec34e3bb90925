import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  leaseLength,
  LOGGER,
  type Logger,
  LuaScript,
  REDIS,
  type RedisClient,
  releaseLock,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { type BackfillOwner } from '#streams';

const TTL_MS = 20 * 60_000;
// The lower bound under TIME_SCALE: the lock must outlive one call to the vendor and the storing of its answer.
const SHORTEST_TTL_MS = 12_000;

const renewLock = new LuaScript<number>(import.meta.url, './lua/renew-lock.lua');

/** The lock of one athlete's batch at a vendor. It saves a second worker useless work. Claims, not this lock, prevent double fetches. */
export interface BatchLock {
  /** False if this worker lost the lock: another worker holds the lock, or Redis lost the lock. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** Takes locks in Redis. A lock that could not be released is released when Redis returns. Otherwise its athlete would wait 20 min. */
@Injectable()
export class BatchLocks {
  private readonly ttlMs: number;
  /** Token and key of each lock that this worker no longer needs but may still hold. */
  private readonly unreleased = new Map<string, string>();

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(TIME_SCALE) scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.ttlMs = Math.ceil(leaseLength(scale, TTL_MS, SHORTEST_TTL_MS));
    // The client of a Cluster stays ready during a fail-over and emits no `ready`, so `take` releases as well.
    redis.on('ready', () => void this.releaseAll());
  }

  async take({ athleteId, provider }: BackfillOwner): Promise<BatchLock | undefined> {
    await this.releaseAll();
    const key = `${provider}:stream_backfill:${athleteId}`;
    const token = randomUUID();
    const release = () => releaseLock(this.redis, key, token);
    const taken = await this.releaseLater(key, token, () =>
      this.redis.set(key, token, 'PX', this.ttlMs, 'NX'),
    );
    if (taken === null) return undefined;
    return {
      renew: async () => (await renewLock.run(this.redis, [key], [token, this.ttlMs])) === 1,
      release: () => this.releaseLater(key, token, release),
    };
  }

  /** Remembers the lock if the command fails: a command without an answer may have taken effect. */
  private async releaseLater<T>(key: string, token: string, command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      this.unreleased.set(token, key);
      throw error;
    }
  }

  private async releaseAll(): Promise<void> {
    try {
      for (const [token, key] of this.unreleased) {
        await releaseLock(this.redis, key, token);
        this.unreleased.delete(token);
      }
    } catch (err) {
      this.logger.warn({ err }, 'backfill locks not released yet');
    }
  }
}
