import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { LuaScript, REDIS, type RedisClient, TIME_SCALE, type TimeScale } from '#platform';
import { Budgets, windowLeft } from '#rate-limit';
import { type VendorId } from '#vendors';

const SHORTEST_GAP_MS = 1_000;
// The last tenth of the window is left for calls that were late.
const SPREAD_OVER = 0.9;

const takeTurn = new LuaScript<number>(import.meta.url, './lua/take-turn.lua');

/**
 * Spreads the backfill's calls of all workers to a vendor evenly over the rest of the window. Otherwise the backfill would use up the calls at
 * the start of the window, before live calls come. This class gives no permit: the budget still decides on each call.
 */
@Injectable()
export class Pace {
  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    private readonly budgets: Budgets,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** Resolves when this worker may make the next call. If the window has no call left, resolves at once: the budget refuses the call. */
  async waitForTurn(provider: VendorId, signal: AbortSignal): Promise<void> {
    const budget = this.budgets.of(provider);
    const gauges = await budget.gauges();
    const { policy } = budget;
    const outlook = { policy, gauges, class: 'backfill', scale: this.scale.factor } as const;
    const { calls, ms } = windowLeft(new Date(budget.nowMs()), outlook);
    if (calls === 0) return;
    const gapMs = Math.max(this.scale.wait(SHORTEST_GAP_MS), (SPREAD_OVER * ms) / calls);
    const waitMs = await takeTurn.run(this.redis, [`${provider}:stream_backfill:next`], [gapMs, ms]);
    await pause(waitMs, undefined, { signal });
  }
}
