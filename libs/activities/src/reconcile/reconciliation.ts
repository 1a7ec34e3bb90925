import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LOGGER, type Logger, TIME_SCALE, type TimeScale, Workers } from '#platform';
import { type CallOutcome, ok, reconciliationWork, type VendorId, vendorsWith } from '#vendors';
import { PendingImports } from '../imports/pending-imports.js';
import { HistoryListing } from './history-listing.js';
import { type HistoryClaim, type HistoryProgress, HistoryRows } from './history-rows.js';
import { MissingActivities } from './missing-activities.js';
import { ReconciliationCalls } from './reconciliation-calls.js';

const LOOK_FOR_DUE_MS = 600_000;
const LEASE_MS = 600_000;
const SHORTEST_LEASE_MS = 60_000;

interface Reconciled {
  readonly progress: HistoryProgress;
  /** How many activities the list lacked. */
  readonly missing: number;
}

/**
 * Compares our rows with the vendor's list. The last month is compared each day. This is skipped if the vendor sends events of each change and an
 * event of the athlete was applied within a day. The whole history is compared each week. The athlete who was reconciled longest ago is first. An
 * import fetches new activities. An activity that the list lacks is requested by its id and removed only on a 404.
 *
 * Not guaranteed: these intervals. All calls together stay within a share of the vendor's day, so many athletes wait longer.
 */
@Injectable()
export class Reconciliation implements OnApplicationBootstrap {
  private readonly workers: ReadonlyArray<ReturnType<typeof this.workerOf>>;

  constructor(
    private readonly calls: ReconciliationCalls,
    private readonly rows: HistoryRows,
    private readonly listing: HistoryListing,
    private readonly missing: MissingActivities,
    private readonly imports: PendingImports,
    workers: Workers,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.workers = vendorsWith('activities').map((provider) => this.workerOf(provider, workers));
  }

  onApplicationBootstrap(): void {
    for (const worker of this.workers) worker.start();
  }

  private workerOf(provider: VendorId, workers: Workers) {
    const { calls, rows, scale, logger } = this;
    const work = reconciliationWork<HistoryClaim, Reconciled>(
      {
        name: `activities of ${provider}`,
        lease: { ms: LEASE_MS, atLeastMs: SHORTEST_LEASE_MS },
        everyMs: LOOK_FOR_DUE_MS,
        rows: rows.claims,
        claim: async (leaseMs) =>
          (await calls.isOpen(provider))
            ? rows.claim(provider, calls.source(provider).events, leaseMs)
            : undefined,
        steps: (claim, signal) => this.steps(claim, signal),
        finish: (claim, { progress }) => rows.finish(claim, progress),
        about: ({ athlete_id, is_whole }, done) => ({ athlete_id, is_whole, missing: done?.missing }),
      },
      scale,
      logger,
    );
    return workers.of(work);
  }

  private async *steps(
    claim: HistoryClaim,
    signal: AbortSignal,
  ): AsyncGenerator<void, CallOutcome<Reconciled>> {
    const listed = yield* this.listing.complete(claim, signal);
    if (listed.kind !== 'ok') return listed;
    const missing = yield* this.missing.confirmAll(claim, listed.value, signal);
    if (missing.kind !== 'ok') return missing;
    const { athlete_id: athleteId, provider } = claim;
    await this.imports.begin({ athleteId, provider });
    return ok({ progress: listed.value.progress, missing: missing.value });
  }
}
