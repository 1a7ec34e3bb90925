import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { Clock, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { LONGEST_STRAVA_CALL_MS, StravaClient } from '#strava';
import { ActivityStore } from '../activity-store.js';
import { type Turn } from './import-job.js';
import { ImportJobs, type Suspension } from './import-jobs.js';
import { ImportNews } from './import-news.js';
import { type ImportTick, ImportTicks } from './import-ticks.js';
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
  private running: Promise<void> = Promise.resolve();

  constructor(
    strava: StravaClient,
    athletes: Athletes,
    store: ActivityStore,
    database: Database,
    clock: Clock,
    news: ImportNews,
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.parts = { strava, athletes, store, database, clock, jobs, scale, news };
  }

  /** A turn in hand ends after its call, which is still settled with the budget. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.running;
  }

  runTurn(tick: ImportTick): Promise<void> {
    this.running = this.run(tick);
    return this.running;
  }

  private async run({ importId, turn: ended }: ImportTick): Promise<void> {
    if (this.isStopping) return;
    const leaseMs = Math.max(this.scale.guard(LEASE_MS), LONGEST_STRAVA_CALL_MS);
    const askedAtMs = performance.now();
    const turn = await this.jobs.claim(importId, ended, leaseMs);
    if (!turn) return;
    const elapsedMs = performance.now() - askedAtMs;
    const lease = new Lease(leaseMs, () => this.jobs.renew(turn, leaseMs), this.tellOfLease, elapsedMs);
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

  private readonly tellOfLease = (err: unknown) =>
    this.logger.warn({ err }, 'lease of an import not renewed');

  private async settle(turn: Turn, outcome: Outcome): Promise<void> {
    switch (outcome.kind) {
      case 'over':
        return;
      case 'more':
        await this.jobs.handBack(turn);
        return this.ticks.next(turn.id, turn.turn);
      case 'limited':
        return this.suspend(turn, { status: 'rate_limited', forMs: outcome.forMs });
      case 'unmetered':
        return this.suspend(turn, {
          forMs: this.scale.wait(UNMETERED_PAUSE_MS),
          error: 'The budget cannot be asked',
        });
      case 'waiting':
        return this.suspend(turn, { forMs: outcome.forMs });
      case 'outage': {
        const failures = turn.failures + 1;
        return this.suspend(turn, { forMs: this.pauseAfter(turn.failures), error: outcome.error, failures });
      }
      case 'failed':
        await this.jobs.finish(this.parts.database, turn, { status: 'failed', error: outcome.error });
        this.logger.info({ import_id: turn.id, error: outcome.error }, 'import failed');
    }
  }

  /** Of a kind that nobody has foreseen: tried again a few times, then somebody has to look at it. */
  private async accident(turn: Turn): Promise<void> {
    const error = 'An internal error';
    const accidents = turn.accidents + 1;
    if (accidents < MOST_ACCIDENTS)
      return this.suspend(turn, { forMs: this.pauseAfter(turn.accidents), error, accidents });
    await this.jobs.finish(this.parts.database, turn, { status: 'failed', error });
  }

  private async suspend(turn: Turn, change: Partial<Suspension>): Promise<void> {
    const { failures, accidents } = turn;
    const suspension = { status: 'queued', forMs: 0, error: null, failures, accidents, ...change } as const;
    const forMs = Math.max(0, suspension.forMs);
    const retryAfter = await this.jobs.suspend(turn, { ...suspension, forMs });
    if (retryAfter) await this.ticks.later(turn.id, turn.turn, retryAfter, forMs);
  }

  private pauseAfter(pauses: number): number {
    return this.scale.wait(Math.min(LONGEST_OUTAGE_PAUSE_MS, OUTAGE_PAUSE_MS * 2 ** pauses));
  }
}
