import { Inject, Injectable } from '@nestjs/common';
import { type Gauge, STRAVA_BUDGET, type VendorBudget } from '#rate-limit';

export interface BudgetView {
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  readonly resets_at: Date;
}

export interface ObservabilityView {
  /** Share of the last 24 hours' calls that Strava refused; 0 without calls. */
  readonly rate_429_24h: number;
  readonly window: BudgetView;
  readonly day: BudgetView;
}

/** How we stand with Strava, for operators. The bucket is that of reads, which binds first. */
@Injectable()
export class Observability {
  constructor(@Inject(STRAVA_BUDGET) private readonly budget: VendorBudget) {}

  async look(): Promise<ObservabilityView> {
    const [gauges, traffic] = await Promise.all([this.budget.gauges(), this.budget.traffic()]);
    const classes = Object.values(traffic);
    const calls = classes.reduce((sum, each) => sum + each.calls, 0);
    const refused = classes.reduce((sum, each) => sum + each.rateLimited, 0);
    return {
      rate_429_24h: calls === 0 ? 0 : Number((refused / calls).toFixed(4)),
      window: viewOf(gauges, '15min'),
      day: viewOf(gauges, 'day'),
    };
  }
}

function viewOf(gauges: readonly Gauge[], window: string): BudgetView {
  const gauge = gauges.find((one) => one.bucket === 'read' && one.window === window);
  if (!gauge) throw new Error(`the budget has no read counter for ${window}`);
  const { used, limit, remaining, resetsAt } = gauge;
  return { used, limit, remaining, resets_at: resetsAt };
}
