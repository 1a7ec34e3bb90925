import { LRUCache } from 'lru-cache';
import { Counter } from 'prom-client';
import { type Logger } from '../logging/logger.js';
import { atMostEntries } from '../memory/entries.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { LuaScript } from '../redis/lua-script.js';
import { type RedisClient } from '../redis/redis.js';

// A process leases 30 requests at a time, so a request costs a thirtieth of a round trip. Leased requests that the process does not use are
// lost for that minute: at most 29 per caller and process.
const BLOCK = 30;
const REMEMBERED_CALLERS = 50_000;
// After a failure, requests pass without asking Redis for this long.
const OPEN_MS = 5_000;
const MINUTE_MS = 60_000;

const leaseRequests = new LuaScript<[granted: number, msLeft: number, unleased: number]>(
  import.meta.url,
  './lease-requests.lua',
);

const failedOpen = new Counter({
  name: 'throttle_failed_open_total',
  help: 'Times requests were let through uncounted because Redis did not answer',
});

export interface ThrottleAnswer {
  readonly allowed: boolean;
  /**
   * Requests left in the minute, as far as this replica knows: the rest of its own lease, and the requests that no replica had leased at
   * the time of that lease. The number is too high by the requests that other replicas have leased since then. It is too low by the leased
   * requests that other replicas have not used yet, up to 29 for each.
   */
  readonly remaining: number;
  /** Time until the minute ends. */
  readonly resetMs: number;
}

interface Lease {
  left: number;
  /** Requests of the minute that no replica had leased right after this lease. */
  readonly unleased: number;
  /** True if all requests of the minute are leased. A lease that is used up but not `spent` is renewed. */
  readonly spent: boolean;
  readonly endsAtMs: number;
}

/**
 * Allows a number of requests a minute per caller over all processes. Redis counts them. While Redis does not answer, requests of a caller without
 * a lease pass uncounted. Only the first of these requests wait for the timeout. After 5 s the throttle asks Redis again.
 */
export class Throttle {
  private readonly leases = new LRUCache<string, Lease>(atMostEntries(REMEMBERED_CALLERS));
  private readonly renewals = new OneAtATime<void>();
  private openUntilMs = 0;

  constructor(
    private readonly redis: RedisClient,
    private readonly logger: Logger,
  ) {}

  async take(caller: string, perMinute: number): Promise<ThrottleAnswer> {
    for (;;) {
      const answer = this.takeLeased(caller, perMinute);
      if (answer) return answer;
      // Concurrent requests of a caller share one lease request.
      await this.renewals.run(caller, () => this.renew(caller, perMinute));
    }
  }

  /** Returns the answer if it is known without asking Redis. */
  takeLeased(caller: string, perMinute: number): ThrottleAnswer | undefined {
    const nowMs = performance.now();
    const lease = this.leases.get(caller);
    const current = lease && nowMs < lease.endsAtMs ? lease : undefined;
    if (current && current.left > 0) {
      current.left -= 1;
      const remaining = current.left + current.unleased;
      return { allowed: true, remaining, resetMs: current.endsAtMs - nowMs };
    }
    if (current?.spent) return { allowed: false, remaining: 0, resetMs: current.endsAtMs - nowMs };
    // After a failure of Redis, requests pass uncounted.
    return nowMs < this.openUntilMs
      ? { allowed: true, remaining: perMinute, resetMs: MINUTE_MS - (Date.now() % MINUTE_MS) }
      : undefined;
  }

  private async renew(caller: string, perMinute: number): Promise<void> {
    try {
      const [granted, msLeft, unleased] = await leaseRequests.run(
        this.redis,
        [`throttle:${caller}`],
        [perMinute, BLOCK],
      );
      this.leases.set(caller, {
        left: granted,
        unleased,
        spent: granted === 0,
        endsAtMs: performance.now() + msLeft,
      });
    } catch (err) {
      failedOpen.inc();
      this.logger.warn({ err }, 'throttle lets requests through uncounted');
      this.openUntilMs = performance.now() + OPEN_MS;
    }
  }
}
