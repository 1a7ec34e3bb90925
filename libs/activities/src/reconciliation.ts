import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Athletes } from '#connections';
import {
  Clock,
  type Config,
  CONFIG,
  Database,
  loadSql,
  LOGGER,
  type Logger,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { type Who, StravaBudgetUnavailable, StravaClient, StravaNotFound, StravaRateLimited } from '#strava';
import { ActivityStore } from './activity-store.js';
import { beforeOfNextPage } from './imports/import-cursor.js';
import { ImportJobs } from './imports/import-jobs.js';
import { ImportTicks } from './imports/import-ticks.js';

const claimReconciliation = loadSql(import.meta.url, './sql/claim-reconciliation.sql');
const missingFromList = loadSql(import.meta.url, './sql/missing-from-list.sql');

const DAY_MS = 86_400_000;
const LOOK_FOR_DUE_MS = 600_000;
const RECENT_EVERY_MS = DAY_MS;
const WHOLE_EVERY_MS = 7 * DAY_MS;
const RECENT_DAYS = 30;
const PAGE = 200;
const MOST_MISSING = 50;
const WAIT_MS = 10_000;
// Longer than a comparison takes; one that failed is left alone for as long.
const LEASE_MS = 600_000;

interface Due {
  readonly athlete_id: string;
  readonly is_whole: boolean;
}

/**
 * Compares what we have with the vendor's list, since its events may be lost: the last month each day, the whole history
 * each week. New ones go to an import; what the list lacks is asked for by its id, and only a 404 removes it.
 */
@Injectable()
export class Reconciliation implements OnApplicationBootstrap {
  constructor(
    private readonly strava: StravaClient,
    private readonly athletes: Athletes,
    private readonly store: ActivityStore,
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('reconciliation', LOOK_FOR_DUE_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (;;) {
      const due = await this.claim();
      if (!due) return;
      try {
        await this.compare(due);
      } catch (error) {
        // Nobody waits for it: there will be budget to spare another time.
        if (error instanceof StravaRateLimited || error instanceof StravaBudgetUnavailable) return;
        // This athlete comes again after the others.
        this.logger.warn({ err: error }, 'history not compared');
      }
    }
  }

  private async compare({ athlete_id: athleteId, is_whole: isWhole }: Due): Promise<void> {
    const generation = await this.athletes.generationOf(athleteId);
    const begunAt = new Date(this.clock.nowMs());
    const days = Math.min(isWhole ? Infinity : RECENT_DAYS, this.config.strava.retentionDays ?? Infinity);
    // What is past its retention is not fetched anew only to be deleted again.
    const since = days === Infinity ? null : new Date(begunAt.getTime() - days * DAY_MS);
    const listed = await this.list({ athleteId, class: 'backfill', waitMs: WAIT_MS }, generation, since);
    const values = [athleteId, since, begunAt, listed, MOST_MISSING];
    const { rows } = await this.database.query<{ external_activity_id: string }>(missingFromList, values);
    for (const { external_activity_id } of rows)
      await this.confirm(athleteId, generation, external_activity_id);
    await this.importWhatIsNew(athleteId);
    await this.done(athleteId, begunAt, isWhole);
    this.logger.info({ listed: listed.length, missing: rows.length, is_whole: isWhole }, 'history compared');
  }

  private async list(asker: Who, generation: number, since: Date | null): Promise<string[]> {
    const ids: string[] = [];
    // A moment ahead: what begins now is listed too.
    let before = Math.ceil(this.clock.nowMs() / 1_000) + 1;
    for (;;) {
      const askedAt = new Date(this.clock.nowMs());
      const page = await this.strava.listActivities(asker, {
        before: new Date(before * 1_000),
        perPage: PAGE,
      });
      const inRange = page.filter(({ startTime }) => since === null || startTime >= since);
      await this.athletes.inGeneration(asker.athleteId, generation, (sql) =>
        this.store.saveSummaries(sql, asker.athleteId, inRange, askedAt),
      );
      ids.push(...inRange.map(({ id }) => id));
      if (page.length < PAGE / 2 || inRange.length < page.length) return ids;
      const oldestMs = Math.min(...page.map(({ startTime }) => startTime.getTime()));
      before = beforeOfNextPage(new Date(oldestMs), before);
    }
  }

  private async confirm(athleteId: string, generation: number, externalId: string): Promise<void> {
    const askedAt = new Date(this.clock.nowMs());
    try {
      const detail = await this.strava.activity(
        { athleteId, class: 'backfill', waitMs: WAIT_MS },
        externalId,
      );
      await this.athletes.inGeneration(athleteId, generation, (sql) =>
        this.store.saveDetail(sql, athleteId, detail, askedAt),
      );
    } catch (error) {
      if (!(error instanceof StravaNotFound)) throw error;
      await this.database.transaction((sql) => this.store.remove(sql, athleteId, externalId, askedAt));
    }
  }

  private async importWhatIsNew(athleteId: string): Promise<void> {
    const oldest = await this.store.oldestPending(this.database, athleteId);
    if (!oldest) return;
    const { job } = await this.jobs.createOrFind(athleteId, 'incremental', oldest);
    await this.ticks.next(job.id, Number(job.turn));
  }

  private async claim(): Promise<Due | undefined> {
    const { wait, guard } = this.scale;
    const values = [wait(RECENT_EVERY_MS), wait(WHOLE_EVERY_MS), Math.max(guard(LEASE_MS), LEASE_MS / 10)];
    const { rows } = await this.database.query<Due>(claimReconciliation, values);
    return rows[0];
  }

  private async done(athleteId: string, begunAt: Date, isWhole: boolean): Promise<void> {
    const statement = `
      update strava_sync
      set
        reconciled_at = $2,
        whole_history_reconciled_at = case when $3 then $2 else whole_history_reconciled_at end,
        reconcile_after = null
      where athlete_id = $1`;
    await this.database.query(statement, [athleteId, begunAt, isWhole]);
  }
}
