import { Inject, Injectable } from '@nestjs/common';
import { BackfillForecast } from '#backfill';
import { type Gauge, STRAVA_BUDGET, type VendorBudget } from '#rate-limit';
import { type CountByStatus, StreamCounts } from '#streams';

export interface BudgetView {
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  readonly resets_at: Date;
}

export interface BackfillView extends CountByStatus {
  readonly athlete_id: string;
  /** Null where nobody can say, and where there is nothing left to fetch. */
  readonly eta: Date | null;
}

export interface ObservabilityView {
  readonly status_distribution: CountByStatus;
  /** Failed ones by how often they have failed. */
  readonly retry_distribution: Readonly<Record<string, number>>;
  /** Share of the last 24 hours' calls that Strava refused; 0 without calls. */
  readonly rate_429_24h: number;
  readonly window: BudgetView;
  readonly day: BudgetView;
  /** Failed so often that only a reset helps. */
  readonly stuck_failed: number;
  readonly backfill: readonly BackfillView[];
}

// A page that nobody could read otherwise.
const MOST_ATHLETES = 1_000;

/** How we stand with Strava, for operators. The bucket is that of reads, which binds first. */
@Injectable()
export class Observability {
  constructor(
    @Inject(STRAVA_BUDGET) private readonly budget: VendorBudget,
    private readonly streams: StreamCounts,
    private readonly forecast: BackfillForecast,
  ) {}

  async look(): Promise<ObservabilityView> {
    const [gauges, traffic, overview, athletes, etas] = await Promise.all([
      this.budget.gauges(),
      this.budget.traffic(),
      this.streams.overview(),
      this.streams.byAthlete(MOST_ATHLETES),
      this.forecast.etas(),
    ]);
    const classes = Object.values(traffic);
    const calls = classes.reduce((sum, each) => sum + each.calls, 0);
    const refused = classes.reduce((sum, each) => sum + each.rateLimited, 0);
    const backfill = athletes.map((count) => ({ ...count, eta: etas.get(count.athlete_id) ?? null }));
    return {
      status_distribution: overview.byStatus,
      retry_distribution: Object.fromEntries(overview.byRetries),
      rate_429_24h: calls === 0 ? 0 : Number((refused / calls).toFixed(4)),
      window: viewOf(gauges, '15min'),
      day: viewOf(gauges, 'day'),
      stuck_failed: overview.stuck,
      backfill,
    };
  }
}

function viewOf(gauges: readonly Gauge[], window: string): BudgetView {
  const gauge = gauges.find((one) => one.bucket === 'read' && one.window === window);
  if (!gauge) throw new Error(`the budget has no read counter for ${window}`);
  const { used, limit, remaining, resetsAt } = gauge;
  return { used, limit, remaining, resets_at: resetsAt };
}
