import { type RateWindow } from './clock.js';
import { type Vendor, VENDORS } from './vendors.js';

const DAY_SECONDS = 86_400;
const REMEMBERED_WINDOWS = 5_000;
const REMEMBERED_REQUESTS = 60;

/** One window with its counted calls, refused calls included. */
interface WindowCount {
  id: number;
  starts_at: string;
  used: Record<string, number>;
  limit: Record<string, number>;
  over_limit: number;
}

interface WebhookCounts {
  sent: number;
  acked: number;
  retried: number;
  failed: number;
  dropped: number;
}

interface VendorStats {
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

/** `times` counts requests that are equal in vendor, method, path, status and fault. */
interface RecentRequest extends SeenRequest {
  times: number;
}

function isSame(a: SeenRequest, b: SeenRequest): boolean {
  const keyOf = ({ vendor, method, path, status, fault }: SeenRequest) =>
    [vendor, method, path, status, fault].join(' ');
  return keyOf(a) === keyOf(b);
}

interface Charge {
  bucket: string;
  seconds: number;
  window: RateWindow;
  used: number;
  limit: number;
}

/**
 * Counts the requests that reached the vendors. Every number comes from a socket of this process, none from the product.
 * Counts are in memory only. The judge keeps the last 5,000 windows and 5,000 days per vendor, and the last 60 distinct
 * requests of all vendors.
 */
export class Judge {
  private tallies = new Map<Vendor, Tally>();
  private requests: RecentRequest[] = [];

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

  recentRequests(): readonly RecentRequest[] {
    return this.requests;
  }

  /**
   * Counts the start of a request. Returns the function to call at the end of the request. After a reset in between, the
   * new counts do not contain this request.
   */
  began(vendor: Vendor, endpoint: string): (request: SeenRequest) => void {
    const tally = this.of(vendor);
    tally.began(endpoint);
    return (request) => {
      tally.ended(request);
      this.remember(request);
    };
  }

  /**
   * Puts the request first. Equal requests with an equal status share one line, so that a polling client does not push
   * out all other requests.
   */
  private remember(request: SeenRequest): void {
    const at = this.requests.findIndex((known) => isSame(known, request));
    const [known] = at < 0 ? [] : this.requests.splice(at, 1);
    this.requests.unshift({ ...request, times: (known?.times ?? 0) + 1 });
    if (this.requests.length > REMEMBERED_REQUESTS) this.requests.pop();
  }

  /** Notes a successful fetch of a resource. The next fetch counts as a duplicate unless the resource changes before. */
  served(vendor: Vendor, resource: string): void {
    this.of(vendor).served(resource);
  }

  /** Notes a change of the resource, so that the next fetch is no duplicate. */
  changed(vendor: Vendor, resource: string): void {
    this.of(vendor).seen.delete(resource);
  }

  /** Counts one call in all buckets that were charged. `refused` is true if one of these buckets was already full. */
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
    // If a bucket counts per token, the highest count of a token is shown.
    count.used[bucket] = Math.max(used, count.used[bucket] ?? 0);
    count.limit[bucket] = limit;
    return count;
  }
}

function increment(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
