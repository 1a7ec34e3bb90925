import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { LuaScript, REDIS, TIME_SCALE, type TimeScale } from '#platform';

const TTL_MS = 20 * 60_000;
// A scaled one must still outlive a call to the vendor and what comes of it.
const SHORTEST_TTL_MS = 20_000;

const releaseLock = new LuaScript<number>(import.meta.url, './lua/release-lock.lua');
const renewLock = new LuaScript<number>(import.meta.url, './lua/renew-lock.lua');

/** The right to one batch of an athlete's. Claims keep a second worker harmless; the lock keeps it from useless work. */
export interface BatchLock {
  /** False: it was lost, to another or with Redis. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

@Injectable()
export class BatchLocks {
  private readonly ttlMs: number;

  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    this.ttlMs = Math.ceil(Math.max(SHORTEST_TTL_MS, scale.guard(TTL_MS)));
  }

  async take(athleteId: string): Promise<BatchLock | undefined> {
    const key = `strava:stream_backfill:${athleteId}`;
    const token = randomUUID();
    const taken = await this.redis.set(key, token, 'PX', this.ttlMs, 'NX');
    if (taken === null) return undefined;
    return {
      renew: async () => (await renewLock.run(this.redis, [key], [token, this.ttlMs])) === 1,
      release: async () => void (await releaseLock.run(this.redis, [key], [token])),
    };
  }
}
