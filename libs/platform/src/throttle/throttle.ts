import { type Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import { type Logger } from '../logging/logger.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { LuaScript } from '../redis/lua-script.js';

export const REQUESTS_PER_MINUTE = 600;
// A block of 30 makes the shared count cost a thirtieth of a round trip per request. What a replica leased and did not
// use is lost to the others for that minute: at most 29 of 600.
const BLOCK = 30;
const REMEMBERED_CALLERS = 50_000;
// After a failure nobody waits for Redis again until this has passed.
const OPEN_MS = 5_000;

const leaseRequests = new LuaScript<[granted: number, msLeft: number]>(
  import.meta.url,
  './lease-requests.lua',
);

const failedOpen = new Counter({
  name: 'throttle_failed_open_total',
  help: 'Times requests were let through uncounted because Redis did not answer',
});

export type ThrottleAnswer =
  { readonly allowed: true } | { readonly allowed: false; readonly retryAfterMs: number };

interface Lease {
  left: number;
  /** The minute's allowance is used up; an empty lease that is not spent is renewed. */
  readonly spent: boolean;
  readonly endsAtMs: number;
}

const ALLOWED: ThrottleAnswer = { allowed: true };

/** 600 requests a minute per caller over all replicas, counted in Redis; without Redis it lets everybody through. */
export class Throttle {
  private readonly leases = new LRUCache<string, Lease>({ max: REMEMBERED_CALLERS });
  private readonly renewals = new OneAtATime<void>();
  private openUntilMs = 0;

  constructor(
    private readonly redis: Redis,
    private readonly logger: Logger,
    private readonly perMinute = REQUESTS_PER_MINUTE,
  ) {}

  async take(caller: string): Promise<ThrottleAnswer> {
    for (;;) {
      const answer = this.takeLeased(caller);
      if (answer) return answer;
      // One question to Redis, however many requests of that caller wait for it.
      await this.renewals.run(caller, () => this.renew(caller));
    }
  }

  /** The answer, where it is known without asking Redis. */
  takeLeased(caller: string): ThrottleAnswer | undefined {
    const nowMs = performance.now();
    const lease = this.leases.get(caller);
    const current = lease && nowMs < lease.endsAtMs ? lease : undefined;
    if (current && current.left > 0) {
      current.left -= 1;
      return ALLOWED;
    }
    if (current?.spent) return { allowed: false, retryAfterMs: current.endsAtMs - nowMs };
    return nowMs < this.openUntilMs ? ALLOWED : undefined;
  }

  private async renew(caller: string): Promise<void> {
    try {
      const [granted, msLeft] = await leaseRequests.run(
        this.redis,
        [`throttle:${caller}`],
        [this.perMinute, BLOCK],
      );
      this.leases.set(caller, { left: granted, spent: granted === 0, endsAtMs: performance.now() + msLeft });
    } catch (err) {
      failedOpen.inc();
      this.logger.warn({ err }, 'throttle lets requests through uncounted');
      this.openUntilMs = performance.now() + OPEN_MS;
    }
  }
}
