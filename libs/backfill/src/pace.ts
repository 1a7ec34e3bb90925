import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { Clock, LuaScript, REDIS, TIME_SCALE, type TimeScale } from '#platform';
import { STRAVA_BUDGET, stravaPolicy, type VendorBudget, windowLeft } from '#rate-limit';

const SHORTEST_GAP_MS = 1_000;
// What is left of the window at its very end is for those that were late.
const SPREAD_OVER = 0.9;

const takeTurn = new LuaScript<number>(import.meta.url, './lua/take-turn.lua');

/** Spreads the backfill's calls over the rest of the window, those of all workers together, so that live calls find room. */
@Injectable()
export class Pace {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(STRAVA_BUDGET) private readonly budget: VendorBudget,
    private readonly clock: Clock,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** Resolves when it is this worker's turn. With nothing left there are no turns to take: the call itself finds that out. */
  async turn(signal: AbortSignal): Promise<void> {
    const gauges = await this.budget.gauges();
    const outlook = { policy: stravaPolicy, gauges, class: 'backfill', scale: this.scale.factor } as const;
    const { calls, ms } = windowLeft(new Date(this.clock.nowMs()), outlook);
    if (calls === 0) return;
    const gapMs = Math.max(this.scale.wait(SHORTEST_GAP_MS), (SPREAD_OVER * ms) / calls);
    const waitMs = await takeTurn.run(this.redis, ['strava:stream_backfill:next'], [gapMs, ms]);
    await pause(waitMs, undefined, { signal });
  }
}
