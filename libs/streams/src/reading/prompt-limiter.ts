import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  atMostEntries,
  LOGGER,
  type Logger,
  LuaScript,
  REDIS,
  type RedisClient,
  TIME_SCALE,
  type TimeScale,
} from '#platform';

const MOST_AT_ONCE = 2;
const MOST_PER_WINDOW = 20;
const WINDOW_MS = 15 * 60_000;
const MOST_ATHLETES = 50_000;
// After a Redis error this process uses only its own counts for this long.
const LOCAL_ONLY_MS = 5_000;

const takeSlot = new LuaScript<number>(import.meta.url, './take-prompt-slot.lua');

/**
 * `busy`: two attempts of the athlete are under way; try again when an attempt has ended. `spent`: the athlete has used all attempts
 * of this window, and the backfill fetches the streams later.
 */
export type PromptSlot =
  { readonly kind: 'taken'; readonly release: () => Promise<void> } | { readonly kind: 'busy' | 'spent' };

const ANSWERS = ['taken', 'busy', 'spent'] as const;

/**
 * Limits the prompt fetches of one athlete to 2 at once and 20 in 15 minutes. All athletes share the vendor's window, and a page
 * full of charts must not use up that window. Redis counts over all replicas. While Redis is away, each process applies the limits
 * to its own fetches. The budget still decides on each vendor call.
 */
@Injectable()
export class PromptLimiter {
  private readonly windowMs: number;
  private readonly local: LocalCounts;
  private localOnlyUntilMs = 0;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(TIME_SCALE) scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.windowMs = Math.ceil(scale.wait(WINDOW_MS));
    this.local = new LocalCounts(this.windowMs);
  }

  /** After `forMs` an attempt counts as ended, also if it takes longer or its process has died. */
  async take(athleteId: string, forMs: number): Promise<PromptSlot> {
    const attempt = randomUUID();
    const shared = await this.takeInRedis(athleteId, attempt, forMs);
    const kind = shared ?? this.local.check(athleteId);
    if (kind !== 'taken') return { kind };
    // The local counts are updated also while Redis answers: Redis may be away at the next request.
    this.local.add(athleteId);
    return { kind, release: () => this.release(athleteId, attempt, shared !== undefined) };
  }

  /** Undefined if Redis does not answer. */
  private async takeInRedis(athleteId: string, attempt: string, forMs: number) {
    if (performance.now() < this.localOnlyUntilMs) return undefined;
    const limits = [MOST_AT_ONCE, MOST_PER_WINDOW, Math.ceil(forMs), this.windowMs];
    try {
      return ANSWERS[await takeSlot.run(this.redis, keysOf(athleteId), [attempt, ...limits])];
    } catch (err) {
      this.logger.warn(
        { err },
        'Redis does not answer: this process limits prompt fetches by its own counts',
      );
      this.localOnlyUntilMs = performance.now() + LOCAL_ONLY_MS;
      return undefined;
    }
  }

  private async release(athleteId: string, attempt: string, isShared: boolean): Promise<void> {
    this.local.remove(athleteId);
    if (!isShared) return;
    try {
      await this.redis.zrem(keysOf(athleteId)[0], attempt);
    } catch (err) {
      this.logger.debug({ err }, 'the end of a prompt fetch was not recorded; it counts until it expires');
    }
  }
}

/** The same limits, counted by this process alone. */
class LocalCounts {
  private readonly taken: LRUCache<string, { calls: number }>;
  private readonly underWay = new Map<string, number>();

  constructor(windowMs: number) {
    this.taken = new LRUCache({ ...atMostEntries(MOST_ATHLETES), ttl: windowMs });
  }

  check(athleteId: string): (typeof ANSWERS)[number] {
    if ((this.taken.get(athleteId)?.calls ?? 0) >= MOST_PER_WINDOW) return 'spent';
    return (this.underWay.get(athleteId) ?? 0) >= MOST_AT_ONCE ? 'busy' : 'taken';
  }

  add(athleteId: string): void {
    const taken = this.taken.get(athleteId);
    if (taken) taken.calls += 1;
    else this.taken.set(athleteId, { calls: 1 });
    this.underWay.set(athleteId, (this.underWay.get(athleteId) ?? 0) + 1);
  }

  remove(athleteId: string): void {
    const left = (this.underWay.get(athleteId) ?? 1) - 1;
    if (left > 0) this.underWay.set(athleteId, left);
    else this.underWay.delete(athleteId);
  }
}

/** The braces put both keys into one hash slot of a Redis cluster. */
function keysOf(athleteId: string): [underWay: string, window: string] {
  return [`prompt:{${athleteId}}:under-way`, `prompt:{${athleteId}}:window`];
}
