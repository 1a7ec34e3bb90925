import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG, LOGGER, type Logger, TIME_SCALE, type TimeScale, Workers } from '#platform';
import { LOOK_FOR_DUE_MS } from '#rate-limit';
import { type CallOutcome, ok, type ProductConfig, reconciliationWork, Sources } from '#vendors';
import { NATIVE_VENDORS, type NativeVendor } from '../contract/native-vendor.js';
import { type ReconciliationClaim, ReconciliationStore } from './reconciliation-store.js';
import { SliceComparison } from './slice-comparison.js';

const DAY_MS = 86_400_000;
const EVERY_MS = DAY_MS;
// A slice is mostly one page of a list. The smallest page of all vendors has 25 records, and a request covers a day and a half more on both sides.
const SLICE_DAYS = 20;
// Longer than the calls of one slice take.
const LEASE_MS = 120_000;
const SHORTEST_LEASE_MS = 15_000;

/**
 * Compares our rows with the vendors' lists. The first comparison of a connection covers the time before the connection. After that the
 * connection is compared every day. A comparison begins with the newest dates and goes in slices of 20 days. The end of each slice is
 * committed.
 */
@Injectable()
export class SleepReconciliation implements OnApplicationBootstrap {
  private readonly workers: ReadonlyArray<ReturnType<typeof this.workerOf>>;

  constructor(
    private readonly store: ReconciliationStore,
    private readonly slices: SliceComparison,
    private readonly sources: Sources,
    workers: Workers,
    @Inject(CONFIG) private readonly config: Pick<ProductConfig, 'vendors' | 'sleep'>,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const offered = NATIVE_VENDORS.filter((vendor) => config.vendors[vendor].client);
    this.workers = offered.map((vendor) => this.workerOf(vendor, workers));
  }

  onApplicationBootstrap(): void {
    for (const worker of this.workers) worker.start();
  }

  private workerOf(vendor: NativeVendor, workers: Workers) {
    const { store, scale, logger } = this;
    const work = reconciliationWork<ReconciliationClaim, undefined>(
      {
        name: `sleep of ${vendor}`,
        lease: { ms: LEASE_MS, atLeastMs: SHORTEST_LEASE_MS },
        everyMs: LOOK_FOR_DUE_MS,
        rows: store.claims,
        claim: (leaseMs) => {
          const { listedDays = Infinity } = this.sources.sleep(vendor);
          const { retentionDays, historyDays: wantedDays } = this.config.sleep;
          const historyDays = Math.min(wantedDays, listedDays);
          return store.claim(vendor, { leaseMs, historyDays, retentionDays });
        },
        steps: (claim, signal) => this.steps(vendor, claim, signal),
        finish: (claim) => store.finish(claim, scale.wait(EVERY_MS)),
        about: ({ athlete_id, is_history, since }) => ({ athlete_id, is_history, since }),
      },
      scale,
      logger,
    );
    return workers.of(work);
  }

  private async *steps(
    vendor: NativeVendor,
    claim: ReconciliationClaim,
    signal: AbortSignal,
  ): AsyncGenerator<void, CallOutcome<undefined>> {
    for (;;) {
      const from = laterOf(claim.since, daysBefore(claim.until, SLICE_DAYS - 1));
      const failure = await this.slices.compare(vendor, claim, from, signal);
      if (failure) return failure;
      if (from === claim.since) return ok(undefined);
      await this.store.moveOn(claim, daysBefore(from, 1));
      yield;
    }
  }
}

const laterOf = (one: string, other: string) => (one > other ? one : other);

function daysBefore(date: string, days: number): string {
  return new Date(Date.parse(date) - days * DAY_MS).toISOString().slice(0, 10);
}
