import { type RateWindow, type VendorClock } from './clock.js';
import { type Judge } from './judge.js';
import { type StatePart } from './memory.js';
import { type Vendor } from './vendors.js';

/** One limit of a vendor. The limit counts per app or per token, in a window of `seconds`. */
export interface BucketPlan {
  readonly name: string;
  /** Other names of the limit in `POST /__sim/limits`. */
  readonly aliases?: readonly string[];
  readonly seconds: number;
  /** A function for a vendor whose limit depends on its state. */
  readonly limit: number | (() => number);
  readonly scope: 'app' | 'token';
  /** `first_call`: the first call after the end of a window begins the next one. Default: aligned to the clock. */
  readonly begins?: 'aligned' | 'first_call';
}

export interface BucketUse {
  readonly name: string;
  readonly seconds: number;
  readonly limit: number;
  readonly used: number;
  readonly window: RateWindow;
}

interface Verdict {
  readonly allowed: boolean;
  /** The full bucket that resets last; undefined if the call is allowed. */
  readonly refusedBy?: BucketUse;
  readonly uses: readonly BucketUse[];
}

interface Counter {
  readonly window: RateWindow;
  readonly used: number;
}

/** The vendors' limits and counters. A refused call counts as well. Changed limits are saved; counters are not. */
export class Limits implements StatePart<[string, number][]> {
  private readonly plans = new Map<Vendor, readonly BucketPlan[]>();
  private readonly changed = new Map<string, number>();
  private readonly leeway = new Map<Vendor, number>();
  private readonly counters = new Map<string, Counter>();

  constructor(
    private readonly clock: VendorClock,
    private readonly judge: Judge,
    private readonly offsetMs: (vendor: Vendor) => number,
  ) {}

  define(vendor: Vendor, buckets: readonly BucketPlan[]): void {
    this.plans.set(vendor, buckets);
  }

  /** Restores the vendors' own limits and empties the counters. */
  reset(): void {
    this.changed.clear();
    this.leeway.clear();
    this.counters.clear();
  }

  /** Saves only limits changed at run time. Counters start at 0 after a restart. */
  save(): [string, number][] {
    return [...this.changed];
  }

  restore(saved: [string, number][]): void {
    for (const [bucket, limit] of saved) this.changed.set(bucket, limit);
  }

  of(vendor: Vendor): Record<string, number> {
    return Object.fromEntries(this.buckets(vendor).map((plan) => [plan.name, this.limitOf(vendor, plan)]));
  }

  /** All names of limits that `change` accepts for this vendor. */
  names(vendor: Vendor): string[] {
    return this.buckets(vendor).flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  }

  change(vendor: Vendor, name: string, limit: number): void {
    const plan = this.buckets(vendor).find(
      (bucket) => bucket.name === name || bucket.aliases?.includes(name),
    );
    if (!plan) throw new Error(`${vendor} has no bucket ${name}`);
    this.changed.set(`${vendor} ${plan.name}`, limit);
  }

  /** The vendor allows so many calls more than its headers say. A restart forgets it. */
  allowMore(vendor: Vendor, calls: number): void {
    this.leeway.set(vendor, calls);
  }

  /**
   * Charges one call to the named buckets, even if the call is refused. The vendors document that a refused call counts
   * towards the day. Their usage headers can also exceed the limit of the short window.
   */
  charge(vendor: Vendor, names: readonly string[], token?: string): Verdict {
    const touched = this.buckets(vendor).filter((plan) => names.includes(plan.name));
    const uses = touched.map((plan) => this.use(vendor, plan, token, 1));
    const leeway = this.leeway.get(vendor) ?? 0;
    const isOver = ({ used, limit }: BucketUse) => used > limit + leeway;
    const refusedBy = uses.filter(isOver).sort((a, b) => b.window.resetsAtMs - a.window.resetsAtMs)[0];
    this.judge.charged(
      vendor,
      uses.map((use) => ({ ...use, bucket: use.name })),
      refusedBy !== undefined,
    );
    return { allowed: !refusedBy, refusedBy, uses };
  }

  /** The present counters, for headers; charges nothing. */
  usage(vendor: Vendor, token?: string): BucketUse[] {
    return this.buckets(vendor).map((plan) => this.use(vendor, plan, token, 0));
  }

  private use(vendor: Vendor, plan: BucketPlan, token: string | undefined, cost: number): BucketUse {
    const { name, seconds } = plan;
    const key = plan.scope === 'token' ? `${vendor} ${name} ${token ?? ''}` : `${vendor} ${name}`;
    const counter = this.counters.get(key);
    const window = this.windowOf(vendor, plan, counter);
    const before = counter?.window.id === window.id ? counter.used : 0;
    const used = before + cost;
    if (cost > 0) this.counters.set(key, { window, used });
    return { name, seconds, window, used, limit: this.limitOf(vendor, plan) };
  }

  /** Without a call since its end, a window that begins with the first call would begin now. */
  private windowOf(
    vendor: Vendor,
    { seconds, begins }: BucketPlan,
    counter: Counter | undefined,
  ): RateWindow {
    if (begins !== 'first_call') return this.clock.window(seconds, this.offsetMs(vendor));
    const isOpen = counter !== undefined && this.clock.nowMs() < counter.window.resetsAtMs;
    return isOpen ? counter.window : this.clock.windowFromNow(seconds);
  }

  private limitOf(vendor: Vendor, plan: BucketPlan): number {
    const { name, limit } = plan;
    return this.changed.get(`${vendor} ${name}`) ?? (typeof limit === 'number' ? limit : limit());
  }

  private buckets(vendor: Vendor): readonly BucketPlan[] {
    return this.plans.get(vendor) ?? [];
  }
}
