import { type Database, type TimeScale } from '#platform';
import { type Gauge } from './counters.js';
import { type DayShare, type VendorPolicy } from './policy.js';
import { type VendorBudget } from './vendor-budget.js';

const DAY_MS = 86_400_000;
// A call sends four requests at most: two tries with the old token, two with a renewed token. Each request after the first one
// delays the next calls of the share.
const MOST_DEBT = 3;

export interface SharePace {
  /** Time between two calls. */
  readonly gapMs: number;
  /** Most calls at once, after a pause. */
  readonly burst: number;
}

type Limits = ReadonlyArray<Pick<Gauge, 'bucket' | 'window' | 'limit'>>;

/**
 * Keeps all workers' calls for one purpose within the purpose's share of the vendor's day. The calls are evenly spaced by the
 * database's clock, with a small burst after a pause. A share is only an upper bound: each call still needs a permit of the budget.
 */
export class VendorShare {
  private readonly share: DayShare;

  constructor(
    private readonly policy: VendorPolicy,
    readonly purpose: string,
    private readonly budget: Pick<VendorBudget, 'gauges'>,
    private readonly database: Database,
    private readonly scale: TimeScale,
  ) {
    const share = policy.shares?.[purpose];
    if (!share) throw new Error(`${policy.vendor} has no share for ${purpose}`);
    this.share = share;
  }

  get vendor(): string {
    return this.policy.vendor;
  }

  /** Most requests a day, by the limit that the vendor reported last. */
  private async perDay(): Promise<number> {
    return perDayOf(this.share, await this.budget.gauges());
  }

  /** False if `spend` would make no call now. */
  async isOpen(): Promise<boolean> {
    if ((await this.perDay()) < 1) return false;
    const statement = `
      select 1
      from vendor_share
      where vendor = $1 and purpose = $2 and next_at > clock_timestamp()`;
    const { count } = await this.database.query(statement, [this.policy.vendor, this.purpose]);
    return count === 0;
  }

  /** Runs `call`, which must run `claim` before each request. Undefined, without a call, if the share is used up for now. */
  async spend<T>(call: (claim: () => Promise<boolean>) => Promise<T>): Promise<T | undefined> {
    const pace = sharePace(this.share, await this.budget.gauges(), this.scale.factor);
    if (!pace || !(await this.take(pace))) return undefined;
    const { gapMs } = pace;
    let requests = 0;
    const claim = async () => {
      requests += 1;
      if (requests > 1) await this.move(gapMs);
      return true;
    };
    try {
      return await call(claim);
    } finally {
      // No request was made, so the share gets the call back.
      if (requests === 0) await this.move(-gapMs);
    }
  }

  private async take({ gapMs, burst }: SharePace): Promise<boolean> {
    const statement = `
      insert into vendor_share (vendor, purpose, next_at)
      values ($1, $2, clock_timestamp() - $4 * interval '1 millisecond')
      on conflict (vendor, purpose) do update set
        next_at = greatest(vendor_share.next_at, clock_timestamp() - ($3 + $4) * interval '1 millisecond')
          + $3 * interval '1 millisecond'
      where vendor_share.next_at <= clock_timestamp()
      returning next_at`;
    // The first call of a burst needs no saved time; each further call uses one saved gap.
    const unusedMs = gapMs * (burst - 2);
    const values = [this.policy.vendor, this.purpose, gapMs, unusedMs];
    const { count } = await this.database.query(statement, values);
    return count > 0;
  }

  private async move(byMs: number): Promise<void> {
    const statement = `
      update vendor_share
      set next_at = next_at + $3 * interval '1 millisecond'
      where vendor = $1 and purpose = $2`;
    await this.database.query(statement, [this.policy.vendor, this.purpose, byMs]);
  }
}

function perDayOf({ percent }: DayShare, gauges: Limits): number {
  const day = gauges.find(({ bucket, window }) => bucket === 'read' && window === 'day');
  return Math.floor(((day?.limit ?? 0) * percent) / 100);
}

/**
 * Spaces calls so that a burst, the spaced calls and the extra requests of the last call together stay within the day's share.
 * Returns undefined if the share is less than one call a day.
 */
export function sharePace(share: DayShare, gauges: Limits, scale: number): SharePace | undefined {
  const perDay = perDayOf(share, gauges);
  if (perDay < 1) return undefined;
  const burst = Math.max(1, Math.min(share.burst, Math.floor(perDay / 5)));
  const spaced = Math.max(1, perDay - (burst - 1) - MOST_DEBT);
  return { gapMs: DAY_MS / scale / spaced, burst };
}
