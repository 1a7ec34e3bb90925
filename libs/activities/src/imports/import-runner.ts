import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { Clock, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { LONGEST_STRAVA_CALL_MS, StravaClient } from '#strava';
import { ActivityStore } from '../activity-store.js';
import { type Turn } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';
import { type ImportParts, ImportTurn, type Outcome } from './import-turn.js';
import { Lease } from './lease.js';

const LEASE_MS = 60_000;
const UNMETERED_PAUSE_MS = 15_000;
const OUTAGE_PAUSE_MS = 60_000;
const LONGEST_OUTAGE_PAUSE_MS = 900_000;
const MOST_ACCIDENTS = 5;

/** Runs one turn of an import and says when the next is due. */
@Injectable()
export class ImportRunner implements BeforeApplicationShutdown {
  private readonly parts: ImportParts;
  private isStopping = false;

  constructor(
    strava: StravaClient,
    athletes: Athletes,
    store: ActivityStore,
    database: Database,
    clock: Clock,
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.parts = { strava, athletes, store, database, clock, jobs, scale };
  }

  /** A turn in hand ends after its call. */
  beforeApplicationShutdown(): void {
    this.isStopping = true;
  }

  async runTurn(importId: string): Promise<void> {
    const leaseMs = Math.max(this.scale.guard(LEASE_MS), LONGEST_STRAVA_CALL_MS);
    const turn = await this.jobs.claim(importId, leaseMs);
    if (!turn) return;
    const lease = new Lease(leaseMs, () => this.jobs.renew(turn, leaseMs));
    try {
      const outcome = await new ImportTurn(this.parts, turn, lease.signal, () => this.isStopping).run();
      await this.settle(turn, outcome);
    } catch (err) {
      this.logger.error({ err, import_id: turn.id }, 'import turn failed');
      await this.accident(turn);
    } finally {
      lease.end();
    }
  }

  private async settle(turn: Turn, outcome: Outcome): Promise<void> {
    switch (outcome.kind) {
      case 'over':
        return;
      case 'more':
        await this.jobs.handBack(turn);
        return this.ticks.next(turn.id, turn.turn);
      case 'limited':
        return this.suspend(turn, 'rate_limited', outcome.forMs, null);
      case 'unmetered':
        return this.suspend(
          turn,
          'queued',
          this.scale.wait(UNMETERED_PAUSE_MS),
          'The budget cannot be asked',
        );
      case 'waiting':
        return this.suspend(turn, 'queued', outcome.forMs, null);
      case 'outage':
        return this.suspend(turn, 'queued', this.pauseAfter(turn.failures), outcome.error, turn.failures + 1);
      case 'failed':
        await this.jobs.finish(this.parts.database, turn, { status: 'failed', error: outcome.error });
        this.logger.info({ import_id: turn.id, error: outcome.error }, 'import failed');
    }
  }

  /** Ours, not the vendor's: tried again a few times, since it may be a server that was away for a moment. */
  private async accident(turn: Turn): Promise<void> {
    const failures = turn.failures + 1;
    if (failures < MOST_ACCIDENTS)
      return this.suspend(turn, 'queued', this.pauseAfter(turn.failures), 'An internal error', failures);
    await this.jobs.finish(this.parts.database, turn, { status: 'failed', error: 'An internal error' });
  }

  private async suspend(
    turn: Turn,
    status: 'rate_limited' | 'queued',
    forMs: number,
    error: string | null,
    failures = 0,
  ): Promise<void> {
    const suspension = { status, forMs: Math.max(0, forMs), error, failures };
    const retryAfter = await this.jobs.suspend(turn, suspension);
    if (retryAfter) await this.ticks.later(turn.id, retryAfter, suspension.forMs);
  }

  private pauseAfter(failures: number): number {
    return this.scale.wait(Math.min(LONGEST_OUTAGE_PAUSE_MS, OUTAGE_PAUSE_MS * 2 ** failures));
  }
}
