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
  type Sql,
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
// Longer than a page or all confirmations take; one that failed is left alone for as long.
const LEASE_MS = 600_000;

interface Due {
  readonly athlete_id: string;
  readonly is_whole: boolean;
  readonly progress: Progress | null;
}

/** How far a comparison is. Kept with the rows of each page, in the same transaction, so that none is asked for twice. */
interface Progress {
  readonly begun_at: string;
  readonly is_whole: boolean;
  /** Unix seconds, as in an import's cursor; null once all is listed. */
  readonly before: number | null;
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

  private async compare({ athlete_id: athleteId, is_whole, progress }: Due): Promise<void> {
    const generation = await this.athletes.generationOf(athleteId);
    let at = progress ?? this.beginning(is_whole);
    const since = this.sinceOf(at);
    while (at.before !== null)
      at = await this.listPage(athleteId, generation, since, { ...at, before: at.before });
    const values = [athleteId, since, at.begun_at, MOST_MISSING];
    const { rows } = await this.database.query<{ external_activity_id: string }>(missingFromList, values);
    for (const { external_activity_id } of rows)
      await this.confirm(athleteId, generation, external_activity_id);
    await this.importWhatIsNew(athleteId);
    await this.done(athleteId, at);
    this.logger.info({ missing: rows.length, is_whole: at.is_whole }, 'history compared');
  }

  private beginning(isWhole: boolean): Progress {
    const nowMs = this.clock.nowMs();
    // A moment ahead: what begins now is listed too.
    const before = Math.ceil(nowMs / 1_000) + 1;
    return { begun_at: new Date(nowMs).toISOString(), is_whole: isWhole, before };
  }

  /** What is past its retention is not fetched anew only to be deleted again. */
  private sinceOf({ begun_at, is_whole }: Progress): Date | null {
    const days = Math.min(is_whole ? Infinity : RECENT_DAYS, this.config.strava.retentionDays ?? Infinity);
    return days === Infinity ? null : new Date(Date.parse(begun_at) - days * DAY_MS);
  }

  private async listPage(
    athleteId: string,
    generation: number,
    since: Date | null,
    at: Progress & { readonly before: number },
  ): Promise<Progress> {
    const askedAt = new Date(this.clock.nowMs());
    const page = await this.strava.listActivities(askerFor(athleteId), {
      before: new Date(at.before * 1_000),
      perPage: PAGE,
    });
    const inRange = page.filter(({ startTime }) => since === null || startTime >= since);
    const isLast = page.length < PAGE / 2 || inRange.length < page.length;
    const oldestMs = Math.min(...page.map(({ startTime }) => startTime.getTime()));
    const next = { ...at, before: isLast ? null : beforeOfNextPage(new Date(oldestMs), at.before) };
    await this.athletes.inGeneration(athleteId, generation, async (sql) => {
      await this.store.saveSummaries(sql, athleteId, inRange, askedAt);
      await this.moveOn(sql, athleteId, next);
    });
    return next;
  }

  private async confirm(athleteId: string, generation: number, externalId: string): Promise<void> {
    const askedAt = new Date(this.clock.nowMs());
    try {
      const detail = await this.strava.activity(askerFor(athleteId), externalId);
      await this.athletes.inGeneration(athleteId, generation, (sql) =>
        this.store.saveDetail(sql, athleteId, detail, askedAt),
      );
    } catch (error) {
      if (!(error instanceof StravaNotFound)) throw error;
      await this.athletes.aloneInGeneration(athleteId, generation, (sql) =>
        this.store.remove(sql, athleteId, externalId, askedAt),
      );
    }
  }

  private async importWhatIsNew(athleteId: string): Promise<void> {
    const oldest = await this.store.oldestPending(this.database, athleteId);
    if (!oldest) return;
    const { job } = await this.jobs.createOrFind(athleteId, 'incremental', oldest);
    await this.ticks.next(job.id, Number(job.turn));
  }

  private async claim(): Promise<Due | undefined> {
    const { wait } = this.scale;
    const values = [wait(RECENT_EVERY_MS), wait(WHOLE_EVERY_MS), this.leaseMs];
    const { rows } = await this.database.query<Due>(claimReconciliation, values);
    return rows[0];
  }

  private async moveOn(sql: Sql, athleteId: string, progress: Progress): Promise<void> {
    const statement = `
      update strava_sync
      set
        reconcile_progress = $2,
        reconcile_after = clock_timestamp() + $3 * interval '1 millisecond'
      where athlete_id = $1`;
    await sql.query(statement, [athleteId, JSON.stringify(progress), this.leaseMs]);
  }

  /** The database's clock writes both times, because it also decides who is due. With another clock an athlete may be due again at once. */
  private async done(athleteId: string, { is_whole }: Progress): Promise<void> {
    const statement = `
      update strava_sync
      set
        reconciled_at = clock_timestamp(),
        whole_history_reconciled_at = case when $2 then clock_timestamp() else whole_history_reconciled_at end,
        reconcile_after = null,
        reconcile_progress = null
      where athlete_id = $1`;
    await this.database.query(statement, [athleteId, is_whole]);
  }

  private get leaseMs(): number {
    return Math.max(this.scale.guard(LEASE_MS), LEASE_MS / 10);
  }
}

/** Nobody waits for it. */
const askerFor = (athleteId: string): Who => ({ athleteId, class: 'backfill', waitMs: WAIT_MS });
