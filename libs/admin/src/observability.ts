import { Inject, Injectable } from '@nestjs/common';
import { Backfill } from '#backfill';
import { OneAtATime, TIME_SCALE, type TimeScale } from '#platform';
import { Budgets, type CallClass } from '#rate-limit';
import { type StreamCountByStatus, StreamCounts } from '#streams';
import { VENDOR_IDS, type VendorId } from '#vendors';
import { Attention, type AttentionView } from './attention.js';
import { KnownEtas } from './known-etas.js';

interface BudgetView {
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  readonly resets_at: Date;
}

interface CounterView extends BudgetView {
  readonly bucket: string;
  readonly window: string;
  /** The vendor answered 429: no call is made until then, even if calls remain. */
  readonly closed_until: Date | null;
  readonly classes: ReadonlyArray<{
    readonly class: CallClass;
    readonly used: number;
    readonly reserve: number;
  }>;
}

/** The calls that a vendor's limits still allow. */
interface VendorBudgetView {
  readonly provider: VendorId;
  /** Share of the calls in the last 24 hours that the vendor refused with 429; 0 without calls. */
  readonly rate_429_24h: number;
  readonly counters: readonly CounterView[];
}

interface BackfillView extends StreamCountByStatus {
  readonly athlete_id: string;
  /** Null if the end is unknown, or if nothing is left to fetch. */
  readonly eta: Date | null;
}

interface ObservabilityView {
  readonly status_distribution: StreamCountByStatus;
  /** Failed fetches by their number of failures. */
  readonly retry_distribution: Readonly<Record<string, number>>;
  /** As in `budgets`. */
  readonly rate_429_24h: number;
  readonly window: BudgetView;
  readonly day: BudgetView;
  /** The budgets of all vendors. `rate_429_24h`, `window` and `day` are Strava's. */
  readonly budgets: readonly VendorBudgetView[];
  /** Number of fetches that have failed too often. Only a reset by an operator retries them. */
  readonly stuck_failed: number;
  readonly backfill: readonly BackfillView[];
  readonly backfills_paused: boolean;
  readonly needs_attention: AttentionView & { readonly stuck_failed: number };
}

// The view shows the athletes with the most calls left. More athletes would not fit on a page.
const MOST_ATHLETES = 1_000;
// Each process reads the counts at most once a second, for any number of operators.
const KNOWN_FOR_MS = 1_000;

// `window` and `day` show this vendor's read bucket, because its reads are used up first.
const SHOWN_FIRST = 'strava' satisfies VendorId;

/** Reads the state of the vendors' budgets and of stream fetches for operators. */
@Injectable()
export class Observability {
  private known: { readonly untilMs: number; readonly view: ObservabilityView } | undefined;
  private readonly reading = new OneAtATime<ObservabilityView>();

  constructor(
    private readonly budgets: Budgets,
    private readonly streams: StreamCounts,
    private readonly etas: KnownEtas,
    private readonly backfills: Backfill,
    private readonly attention: Attention,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** The view is at most a second old, its ETAs 15 seconds. */
  async read(): Promise<ObservabilityView> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.view;
    return this.reading.run('view', async () => {
      const view = await this.gather();
      this.known = { view, untilMs: performance.now() + this.scale.sweep(KNOWN_FOR_MS) };
      return view;
    });
  }

  private async gather(): Promise<ObservabilityView> {
    const [budgets, overview, athletes, etas, backfills_paused, attention] = await Promise.all([
      Promise.all(VENDOR_IDS.map((provider) => this.budgetOf(provider))),
      this.streams.overview(),
      this.streams.byAthlete(MOST_ATHLETES),
      this.etas.read(),
      this.backfills.isPaused(),
      this.attention.read(),
    ]);
    const { rate_429_24h, counters } = budgets.find(
      ({ provider }) => provider === SHOWN_FIRST,
    ) as VendorBudgetView;
    const backfill = athletes.map((count) => ({ ...count, eta: etas.get(count.athlete_id) ?? null }));
    return {
      status_distribution: overview.byStatus,
      retry_distribution: Object.fromEntries(overview.byRetries),
      rate_429_24h,
      window: readsOf(counters, '15min'),
      day: readsOf(counters, 'day'),
      budgets,
      stuck_failed: overview.stuck,
      backfill,
      backfills_paused,
      needs_attention: { ...attention, stuck_failed: overview.stuck },
    };
  }

  private async budgetOf(provider: VendorId): Promise<VendorBudgetView> {
    const { counters, refusedShare } = await this.budgets.of(provider).usage();
    return {
      provider,
      rate_429_24h: Number(refusedShare.toFixed(4)),
      counters: counters.map(
        ({ bucket, window, used, limit, remaining, resetsAt, closedUntil, classes }) => ({
          bucket,
          window,
          used,
          limit,
          remaining,
          resets_at: resetsAt,
          closed_until: closedUntil ?? null,
          classes,
        }),
      ),
    };
  }
}

function readsOf(counters: readonly CounterView[], window: string): BudgetView {
  const counter = counters.find((one) => one.bucket === 'read' && one.window === window);
  if (!counter) throw new Error(`the budget has no read counter for ${window}`);
  const { used, limit, remaining, resets_at } = counter;
  return { used, limit, remaining, resets_at };
}
