import { Inject, Injectable } from '@nestjs/common';
import { ImportJobs } from '#activities';
import { Clock, isRedisAway, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { etas, STRAVA_BUDGET, stravaPolicy, type VendorBudget } from '#rate-limit';
import { StreamCounts } from '#streams';
import { BackfillSwitch } from './backfill-switch.js';

/** When the streams of each athlete will be there, by what the budget lets through and by what others wait for. */
@Injectable()
export class BackfillForecast {
  constructor(
    private readonly counts: StreamCounts,
    private readonly imports: ImportJobs,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly clock: Clock,
    @Inject(STRAVA_BUDGET) private readonly budget: VendorBudget,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Those who have everything are not in it; null where nobody can say. */
  async etas(): Promise<ReadonlyMap<string, Date | null>> {
    const [left, importing, isPaused] = await Promise.all([
      this.counts.left(),
      this.imports.pendingCalls(),
      this.backfillSwitch.isPaused(),
    ]);
    const gauges = isPaused ? undefined : await this.gauges();
    if (!gauges) return new Map([...left.keys()].map((athleteId) => [athleteId, null]));
    const outlook = { policy: stravaPolicy, gauges, class: 'backfill', scale: this.scale.factor } as const;
    const now = new Date(this.clock.nowMs());
    const waiting = [...new Set([...left.keys(), ...importing.keys()])]
      .map((id) => ({ id, calls: (left.get(id)?.calls ?? 0) + (importing.get(id) ?? 0) }))
      .sort((one, other) => one.calls - other.calls);
    const dates = etas(inTurns(waiting.map(({ calls }) => calls)), now, outlook);
    const done = new Map(waiting.map(({ id }, index) => [id, dates[index]]));
    return new Map([...left].map(([id, { notBefore }]) => [id, later(done.get(id), notBefore)]));
  }

  private async gauges() {
    try {
      return await this.budget.gauges();
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.debug({ err }, 'no forecast without the budget');
      return undefined;
    }
  }
}

/** Until each is done, every other one has made as many calls, or all of its own. `calls` rise, and so does the answer. */
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
