import { type AlignedWindow } from './clock.js';
import { type Vendor, VENDORS } from './vendors.js';

const DAY_SECONDS = 86_400;
const REMEMBERED_WINDOWS = 5_000;
const REMEMBERED_REQUESTS = 60;

/** One aligned window as the vendor counted it, refused calls included. */
export interface WindowCount {
  id: number;
  starts_at: string;
  used: Record<string, number>;
  limit: Record<string, number>;
  over_limit: number;
}

export interface WebhookCounts {
  sent: number;
  acked: number;
  retried: number;
  failed: number;
  dropped: number;
}

export interface VendorStats {
  total: number;
  by_endpoint: Record<string, number>;
  by_status: Record<string, number>;
  over_limit: number;
  max_in_flight: number;
  duplicate_requests: number;
  faults_injected: number;
  windows: WindowCount[];
  days: WindowCount[];
  webhooks: WebhookCounts;
}

export interface SeenRequest {
  at: string;
  vendor: Vendor;
  endpoint: string;
  method: string;
  path: string;
  status: string;
  took_ms: number;
  fault?: string;
}

export interface Charge {
  bucket: string;
  seconds: number;
  window: AlignedWindow;
  used: number;
  limit: number;
}

/** Counts what really reached the vendors. It believes nobody: every number comes from a socket of this process. */
export class Judge {
  private tallies = new Map<Vendor, Tally>();
  private requests: SeenRequest[] = [];

  constructor() {
    this.reset();
  }

  reset(): void {
    this.tallies = new Map(VENDORS.map((vendor) => [vendor, new Tally()]));
    this.requests = [];
  }

  stats(): Record<Vendor, VendorStats> {
    const entries = VENDORS.map((vendor) => [vendor, this.of(vendor).stats()] as const);
    return Object.fromEntries(entries) as Record<Vendor, VendorStats>;
  }

  recentRequests(): readonly SeenRequest[] {
    return this.requests;
  }

  /** The answer is to be told when the request is over; one begun before a reset counts where it began. */
  began(vendor: Vendor, endpoint: string): (request: SeenRequest) => void {
    const tally = this.of(vendor);
    tally.began(endpoint);
    return (request) => {
      tally.ended(request);
      this.requests.unshift(request);
      if (this.requests.length > REMEMBERED_REQUESTS) this.requests.pop();
    };
  }

  /** A resource went out with success. Fetching it again before it changes is a duplicate. */
  served(vendor: Vendor, resource: string): void {
    this.of(vendor).served(resource);
  }

  /** The resource changed, so that asking for it again is no waste. */
  changed(vendor: Vendor, resource: string): void {
    this.of(vendor).seen.delete(resource);
  }

  /** `charges` are all buckets one call touched; `refused` when one of them was full already. */
  charged(vendor: Vendor, charges: readonly Charge[], refused: boolean): void {
    this.of(vendor).charged(charges, refused);
  }

  webhook(vendor: Vendor, outcome: keyof WebhookCounts): void {
    this.of(vendor).webhooks[outcome]++;
  }

  private of(vendor: Vendor): Tally {
    return this.tallies.get(vendor)!;
  }
}

class Tally {
  readonly seen = new Set<string>();
  readonly webhooks: WebhookCounts = { sent: 0, acked: 0, retried: 0, failed: 0, dropped: 0 };
  private total = 0;
  private inFlight = 0;
  private maxInFlight = 0;
  private overLimit = 0;
  private duplicates = 0;
  private faults = 0;
  private readonly byEndpoint: Record<string, number> = {};
  private readonly byStatus: Record<string, number> = {};
  private readonly windows = new Map<number, WindowCount>();
  private readonly days = new Map<number, WindowCount>();

  began(endpoint: string): void {
    this.total++;
    this.inFlight++;
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
    increment(this.byEndpoint, endpoint);
  }

  ended({ status, fault }: SeenRequest): void {
    this.inFlight--;
    increment(this.byStatus, status);
    if (fault) this.faults++;
  }

  served(resource: string): void {
    if (this.seen.has(resource)) this.duplicates++;
    this.seen.add(resource);
  }

  charged(charges: readonly Charge[], refused: boolean): void {
    if (refused) this.overLimit++;
    const touched = new Set(charges.map((charge) => this.count(charge)));
    if (refused) touched.forEach((count) => count.over_limit++);
  }

  stats(): VendorStats {
    return {
      total: this.total,
      by_endpoint: { ...this.byEndpoint },
      by_status: { ...this.byStatus },
      over_limit: this.overLimit,
      max_in_flight: this.maxInFlight,
      duplicate_requests: this.duplicates,
      faults_injected: this.faults,
      windows: [...this.windows.values()],
      days: [...this.days.values()],
      webhooks: { ...this.webhooks },
    };
  }

  private count({ bucket, seconds, window, used, limit }: Charge): WindowCount {
    const counts = seconds === DAY_SECONDS ? this.days : this.windows;
    let count = counts.get(window.id);
    if (!count) {
      const starts_at = new Date(window.startsAtMs).toISOString();
      count = { id: window.id, starts_at, used: {}, limit: {}, over_limit: 0 };
      counts.set(window.id, count);
      if (counts.size > REMEMBERED_WINDOWS) counts.delete(counts.keys().next().value!);
    }
    // Buckets kept per token show their fullest one.
    count.used[bucket] = Math.max(used, count.used[bucket] ?? 0);
    count.limit[bucket] = limit;
    return count;
  }
}

function increment(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
