import { type Athletes, ConnectionCut } from '#connections';
import { AppError, ClaimLost, type Database, type Sql, type TimeScale } from '#platform';
import { type ActivitySource, type CallContext, type CallFailure, isForbidden } from '#vendors';
import { type ActivityOwner, type ActivityStore, type Pending, type PendingNow } from '../activity-store.js';
import { nextPosition, PAGE } from '../list-position.js';
import { requestActivity } from '../request-activity.js';
import { type ImportCursor, positionOf, unreadableIn } from './import-cursor.js';
import { type ImportJobs } from './import-jobs.js';
import { type ImportNews } from './import-news.js';
import { type ImportChanges } from './import-changes.js';
import { type ImportClaim } from './import-job.js';

/** How a batch ended. `over`: the import is finished, or this worker's claim is over. */
export type BatchOutcome =
  | { readonly kind: 'more' }
  | { readonly kind: 'over' }
  | { readonly kind: 'notNow'; readonly retryAfterMs: number }
  /** Neither Redis nor the ledger says what has been spent. */
  | { readonly kind: 'budgetUnavailable' }
  | { readonly kind: 'outage'; readonly error: string }
  /** Unexpected: a bug of ours. */
  | { readonly kind: 'accident'; readonly error: string }
  /** Only activities that wait for their next attempt are left. */
  | { readonly kind: 'waiting'; readonly forMs: number }
  | { readonly kind: 'failed'; readonly error: string };

export interface ImportParts {
  readonly source: Pick<ActivitySource, 'history' | 'fullScope' | 'list' | 'activity' | 'photos'>;
  readonly athletes: Athletes;
  readonly jobs: ImportJobs;
  readonly store: ActivityStore;
  readonly database: Database;
  readonly scale: TimeScale;
  readonly news: ImportNews;
  readonly changes: ImportChanges;
}

/** An activity that could not be fetched. An outage may be the reason. */
interface FailedItem {
  readonly pending: Pending;
  readonly part: 'detail' | 'photos';
  readonly error: string;
}

// After ten calls the next athlete's batch runs, so that a long history does not delay other athletes.
const CALLS_A_BATCH = 10;
// Three failed activities in a row mean an outage of the vendor, not faulty activities.
const OUTAGE = 3;
// Near a window boundary, or while all slots are taken, a call waits up to 10 s for its permit.
const WAIT_MS = 10_000;
const RETRY_AFTER_MS = [60_000, 300_000];
const AFTER_OUTAGE_MS = 1_800_000;

/**
 * Makes up to ten calls of one import: summaries first, then details, then photos, newest first. The rows say which calls are left.
 * Each answer is committed before the next call, so that only one call is repeated if the worker dies. Not guaranteed: an activity
 * that cannot be fetched is set aside, and the import completes without that activity.
 *
 * | an activity                                  | next attempt                             | since the first |
 * | -------------------------------------------- | ---------------------------------------- | --------------- |
 * | fails once                                   | after 1 min                              | 1 min           |
 * | fails twice                                  | after 5 min                              | 6 min           |
 * | fails three times, or is answered 404 or 403 | none: the activity is set aside          |                 |
 * | is one of three failures in a row (outage)   | after 30 min; the failure is not counted |                 |
 */
export class ImportBatch {
  private cursor: ImportCursor;
  private failed: FailedItem[] = [];

  constructor(
    private readonly parts: ImportParts,
    private readonly claim: ImportClaim,
    private readonly signal: AbortSignal,
    private readonly isStopping: () => boolean,
  ) {
    this.cursor = claim.sync_cursor;
  }

  async run(): Promise<BatchOutcome> {
    try {
      for (let calls = 0; calls < CALLS_A_BATCH; calls += 1) {
        if (this.signal.aborted) return { kind: 'over' };
        if (this.isStopping()) return { kind: 'more' };
        const outcome = await this.step();
        if (outcome) return outcome;
      }
      return { kind: 'more' };
    } catch (error) {
      if (this.signal.aborted) return { kind: 'over' };
      return afterError(error);
    }
  }

  /** Makes one call. Returns an outcome if the batch ends. */
  private async step(): Promise<BatchOutcome | undefined> {
    if (this.cursor.phase === 'summaries') return this.listPage();
    const except = this.failed.map(({ pending }) => pending.external_activity_id);
    const filter = { ...this.owner, since: this.claim.since, except };
    const detail = await this.parts.store.nextPending(this.parts.database, 'detail', filter);
    if (detail) return this.fetchDetail(detail);
    const photos = await this.parts.store.nextPending(this.parts.database, 'photos', filter);
    if (photos) return this.fetchPhotos(photos);
    return this.nothingDue();
  }

  private async listPage(): Promise<BatchOutcome | undefined> {
    const { source, database, store, jobs, news } = this.parts;
    const { since, scopes } = this.claim;
    const askedAt = await database.now();
    const at = positionOf(this.cursor);
    const before = at.before === null ? undefined : new Date(at.before * 1_000);
    const answer = await source.list(this.context, { before, page: at.page, perPage: PAGE });
    if (answer.kind !== 'ok') return afterFailure(answer);
    const page = answer.value;
    const unreadable = (this.cursor.unreadable ?? 0) + unreadableIn(page, at, since);
    const listed = { unreadable, pages_listed: (this.cursor.pages_listed ?? 0) + 1 };
    const next = nextPosition(at, page, { source, scopes, since, askedAt });
    await this.commit(async (sql) => {
      await store.savePage(sql, this.owner, page, since, askedAt);
      if (next) return jobs.moveOn(sql, this.claim, this.advanced({ ...next, ...listed }));
      const { total, stored } = await jobs.scope(sql, this.claim);
      const cursor = this.advanced({ phase: 'details', activities_imported: stored, ...listed });
      return jobs.moveOn(sql, this.claim, cursor, total);
    });
    if (this.cursor.phase !== 'summaries') void news.summariesListed(this.owner);
    return undefined;
  }

  private async fetchDetail(pending: PendingNow): Promise<BatchOutcome | undefined> {
    const { source, store, jobs } = this.parts;
    const detail = await requestActivity(source, this.context, pending.external_activity_id);
    if (detail.kind !== 'ok') return this.notFetched({ pending, part: 'detail' }, detail);
    await this.commit(async (sql) => {
      await store.saveDetail(sql, this.owner, detail.value, pending.asked_at);
      const activities_imported = this.cursor.activities_imported + 1;
      const last_activity_id = detail.value.id;
      const cursor = this.advanced({ phase: 'details', activities_imported, last_activity_id });
      return jobs.moveOn(sql, this.claim, cursor);
    });
    return this.recordFailures();
  }

  private async fetchPhotos(pending: Pending): Promise<BatchOutcome | undefined> {
    const { source, store, jobs } = this.parts;
    const photos = await source.photos(this.context, pending.external_activity_id);
    if (photos.kind !== 'ok') return this.notFetched({ pending, part: 'photos' }, photos);
    await this.commit(async (sql) => {
      await store.savePhotos(sql, pending.id, photos.value);
      const photos_imported = this.cursor.photos_imported + photos.value.length;
      return jobs.moveOn(sql, this.claim, this.advanced({ phase: 'photos', photos_imported }));
    });
    return this.recordFailures();
  }

  /** A failure is counted only after another activity has been fetched, or if nothing else is due. Until then an outage may be the reason. */
  private async notFetched(
    item: Omit<FailedItem, 'error'>,
    failure: CallFailure,
  ): Promise<BatchOutcome | undefined> {
    const { pending, part } = item;
    const error = failure.reason;
    if (failure.kind === 'gone' || isForbidden(failure)) {
      await this.commitState((sql) => this.parts.store.setAside(sql, pending.id, part, error));
      return undefined;
    }
    if (failure.kind !== 'broken') return afterFailure(failure);
    if (failure.because === 'malformed') {
      // The vendor has answered, so this is no outage.
      await this.recordFailure({ ...item, error });
      return undefined;
    }
    this.failed.push({ ...item, error });
    return this.failed.length < OUTAGE ? undefined : this.outage(error);
  }

  private async nothingDue(): Promise<BatchOutcome | undefined> {
    const { jobs, database, store, changes } = this.parts;
    if (this.failed.length > 0) return this.recordFailures();
    const scope = await jobs.scope(database, this.claim);
    if (scope.retry_in_ms !== null) return { kind: 'waiting', forMs: scope.retry_in_ms };
    const cursor = { ...this.cursor, activities_imported: scope.stored };
    await this.parts.athletes.inGeneration(this.claim.athlete_id, this.claim.generation, async (sql) => {
      const job = await jobs.finish(sql, this.claim, { status: 'completed', cursor, total: scope.total });
      if (!job) return;
      await store.synced(sql, this.claim);
      await changes.announce(sql, job);
    });
    return { kind: 'over' };
  }

  private async recordFailures(): Promise<undefined> {
    for (const item of this.failed.splice(0)) await this.recordFailure(item);
  }

  private async recordFailure({ pending, part, error }: FailedItem): Promise<void> {
    const { store, scale } = this.parts;
    await this.commitState((sql) =>
      store.failed(sql, pending.id, part, error, RETRY_AFTER_MS.map(scale.wait)),
    );
  }

  /** Counts no failure. Postpones the failed activities, so that the next batch begins with other activities. */
  private async outage(error: string): Promise<BatchOutcome> {
    const { store, scale } = this.parts;
    for (const { pending, part } of this.failed.splice(0))
      await this.commitState((sql) => store.postpone(sql, pending.id, part, scale.wait(AFTER_OUTAGE_MS)));
    return { kind: 'outage', error };
  }

  /** Writes an activity's state without moving the cursor. */
  private commitState(write: (sql: Sql) => Promise<void>): Promise<void> {
    return this.commit(async (sql) => {
      await write(sql);
      return this.parts.jobs.isCurrent(sql, this.claim);
    });
  }

  /** Writes rows and cursor in one transaction. Writes nothing if the claim is over or the athlete's connection was cut after the claim. */
  private async commit(work: (sql: Sql) => Promise<boolean>): Promise<void> {
    const { athlete_id, generation } = this.claim;
    await this.parts.athletes.inGeneration(athlete_id, generation, async (sql) => {
      const isOurs = await work(sql);
      if (!isOurs) throw new ClaimLost();
    });
  }

  private advanced(change: Partial<ImportCursor>): ImportCursor {
    this.cursor = { ...this.cursor, ...change };
    return this.cursor;
  }

  private get owner(): ActivityOwner {
    const { athlete_id: athleteId, provider } = this.claim;
    return { athleteId, provider };
  }

  private get context(): CallContext {
    return {
      athleteId: this.claim.athlete_id,
      class: 'import',
      signal: this.signal,
      waitMs: WAIT_MS,
    };
  }
}

function afterFailure(failure: CallFailure): BatchOutcome {
  const error = failure.reason;
  switch (failure.kind) {
    case 'notNow':
      if (failure.because === 'limit') return { kind: 'notNow', retryAfterMs: failure.retryAfterMs };
      return failure.because === 'budgetUnavailable'
        ? { kind: 'budgetUnavailable' }
        : { kind: 'outage', error };
    case 'revoked':
      return { kind: 'failed', error };
    case 'broken':
      return { kind: 'outage', error };
    case 'gone':
    case 'refused':
      if (isForbidden(failure)) return { kind: 'outage', error };
      // Any other refusal means that our request is wrong.
      return { kind: 'accident', error };
  }
}

function afterError(error: unknown): BatchOutcome {
  if (error instanceof ConnectionCut || error instanceof ClaimLost) return { kind: 'over' };
  // One of our servers is away.
  if (error instanceof AppError && error.kind === 'unavailable')
    return { kind: 'outage', error: error.message };
  throw error;
}
