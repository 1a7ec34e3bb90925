import { Inject, Injectable } from '@nestjs/common';
import { ImportJobs } from '#activities';
import { Clock, isRedisAway, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { Budgets, etas } from '#rate-limit';
import { StreamCounts } from '#streams';
import { type VendorId } from '#vendors';
import { BackfillSwitch } from './backfill.js';
import { BACKFILLED } from './backfill-ticks.js';

/**
 * Forecasts when the streams of each athlete will be stored. The forecast uses each vendor's budget and the calls to that vendor that all
 * athletes wait for, also calls of imports, since they use the same budget. It does not foresee live calls, new activities or outages.
 */
@Injectable()
export class BackfillForecast {
  constructor(
    private readonly counts: StreamCounts,
    private readonly imports: ImportJobs,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly clock: Clock,
    private readonly budgets: Budgets,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Maps each athlete with missing streams to a time. Null: the backfill is paused, the budget cannot be read, or there is no estimate. */
  async etas(): Promise<ReadonlyMap<string, Date | null>> {
    const isPaused = await this.backfillSwitch.isPaused();
    const all = new Map<string, Date | null>();
    for (const provider of BACKFILLED)
      for (const [athleteId, done] of await this.etasAt(provider, isPaused)) {
        const known = all.get(athleteId);
        all.set(athleteId, known === undefined ? done : known && done && later(known, done));
      }
    return all;
  }

  private async etasAt(provider: VendorId, isPaused: boolean): Promise<ReadonlyMap<string, Date | null>> {
    const [left, importing] = await Promise.all([
      this.counts.callsLeft(provider),
      this.imports.pendingCalls(provider),
    ]);
    const gauges = isPaused ? undefined : await this.gauges(provider);
    if (!gauges) return new Map([...left.keys()].map((athleteId) => [athleteId, null]));
    const { policy } = this.budgets.of(provider);
    const outlook = { policy, gauges, class: 'backfill', scale: this.scale.factor } as const;
    const now = new Date(this.clock.nowMs());
    const waiting = [...new Set([...left.keys(), ...importing.keys()])]
      .map((id) => ({ id, calls: (left.get(id)?.calls ?? 0) + (importing.get(id) ?? 0) }))
      .sort((one, other) => one.calls - other.calls);
    const dates = etas(inTurns(waiting.map(({ calls }) => calls)), now, outlook);
    const done = new Map(waiting.map(({ id }, index) => [id, dates[index]]));
    return new Map([...left].map(([id, { notBefore }]) => [id, later(done.get(id), notBefore)]));
  }

  private async gauges(provider: VendorId) {
    try {
      return await this.budgets.of(provider).gauges();
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.debug({ err }, 'no backfill forecast: the budget cannot be read');
      return undefined;
    }
  }
}

/** For each athlete, how many calls all athletes make until this athlete is done. Athletes take turns call by call. `calls` ascends. */
function inTurns(calls: readonly number[]): number[] {
  let smaller = 0;
  return calls.map((own, index) => {
    const all = smaller + own * (calls.length - index);
    smaller += own;
    return all;
  });
}

function later(done: Date | undefined, notBefore: Date | null): Date | null {
  if (!done) return null;
  return notBefore && notBefore > done ? notBefore : done;
}
