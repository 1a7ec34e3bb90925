import { type AlignedWindow, type VendorClock } from './clock.js';
import { type Judge } from './judge.js';
import { type Part } from './memory.js';
import { type Vendor } from './vendors.js';

/** A vendor's limit is data: what it is called, how long its aligned window lasts, whom it counts. */
export interface BucketPlan {
  readonly name: string;
  /** Other names under which `POST /__sim/limits` may change it. */
  readonly aliases?: readonly string[];
  readonly seconds: number;
  readonly limit: number;
  readonly scope: 'app' | 'token';
}

export interface BucketUse {
  readonly name: string;
  readonly seconds: number;
  readonly limit: number;
  readonly used: number;
  readonly window: AlignedWindow;
}

export interface Verdict {
  readonly allowed: boolean;
  /** The fullest bucket in the way, when refused. */
  readonly refusedBy?: BucketUse;
  readonly uses: readonly BucketUse[];
}

interface Counter {
  windowId: number;
  used: number;
}

export class Limits implements Part<[string, number][]> {
  private readonly plans = new Map<Vendor, readonly BucketPlan[]>();
  private readonly changed = new Map<string, number>();
  private readonly counters = new Map<string, Counter>();

  constructor(
    private readonly clock: VendorClock,
    private readonly judge: Judge,
    private readonly offsetMs: (vendor: Vendor) => number,
  ) {}

  define(vendor: Vendor, buckets: readonly BucketPlan[]): void {
    this.plans.set(vendor, buckets);
  }

  /** Back to the vendor's own numbers, with empty counters. */
  reset(): void {
    this.changed.clear();
    this.counters.clear();
  }

  /** Only limits changed at run time: what was used up of them is the judge's business and starts anew. */
  save(): [string, number][] {
    return [...this.changed];
  }

  restore(saved: [string, number][]): void {
    for (const [bucket, limit] of saved) this.changed.set(bucket, limit);
  }

  of(vendor: Vendor): Record<string, number> {
    return Object.fromEntries(this.buckets(vendor).map((plan) => [plan.name, this.limitOf(vendor, plan)]));
  }

  /** Every name `change` understands for this vendor. */
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

  /**
   * Counts one call against the named buckets, refused calls included: the vendors say a refused call still counts
   * towards the day, and their usage headers run past the limit in the short window too.
   */
  charge(vendor: Vendor, names: readonly string[], token?: string): Verdict {
    const touched = this.buckets(vendor).filter((plan) => names.includes(plan.name));
    const uses = touched.map((plan) => this.use(vendor, plan, token, 1));
    const refusedBy = uses.filter(isOver).sort((a, b) => b.window.resetsAtMs - a.window.resetsAtMs)[0];
    this.judge.charged(
      vendor,
      uses.map((use) => ({ ...use, bucket: use.name })),
      refusedBy !== undefined,
    );
    return { allowed: !refusedBy, refusedBy, uses };
  }

  /** What the counters say now, for headers; counts nothing. */
  usage(vendor: Vendor, token?: string): BucketUse[] {
    return this.buckets(vendor).map((plan) => this.use(vendor, plan, token, 0));
  }

  private use(vendor: Vendor, plan: BucketPlan, token: string | undefined, cost: number): BucketUse {
    const { name, seconds } = plan;
    const window = this.clock.window(seconds, this.offsetMs(vendor));
    const key = plan.scope === 'token' ? `${vendor} ${name} ${token ?? ''}` : `${vendor} ${name}`;
    const counter = this.counters.get(key);
    const before = counter?.windowId === window.id ? counter.used : 0;
    const used = before + cost;
    if (cost > 0) this.counters.set(key, { windowId: window.id, used });
    return { name, seconds, window, used, limit: this.limitOf(vendor, plan) };
  }

  private limitOf(vendor: Vendor, plan: BucketPlan): number {
    return this.changed.get(`${vendor} ${plan.name}`) ?? plan.limit;
  }

  private buckets(vendor: Vendor): readonly BucketPlan[] {
    return this.plans.get(vendor) ?? [];
  }
}

function isOver({ used, limit }: BucketUse): boolean {
  return used > limit;
}
