import { type Athletes, ConnectionCut, NeedsReauth, NotConnected } from '#connections';
import { AppError, type Clock, type Database, type Sql, type TimeScale } from '#platform';
import {
  StravaAnswerMalformed,
  StravaBudgetUnavailable,
  type StravaClient,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaTokenRevoked,
} from '#strava';
import { type ActivityStore, type Pending } from '../activity-store.js';
import { beforeOfNextPage, type ImportCursor } from './import-cursor.js';
import { TurnOver } from './import-errors.js';
import { type ImportJobs } from './import-jobs.js';
import { type ImportNews } from './import-news.js';
import { type Turn } from './import-job.js';

/** How a turn ended. Only `over` leaves nothing to do. */
export type Outcome =
  | { readonly kind: 'more' }
  | { readonly kind: 'over' }
  | { readonly kind: 'limited'; readonly forMs: number }
  /** Nobody can say what has been spent. */
  | { readonly kind: 'unmetered' }
  | { readonly kind: 'outage'; readonly error: string }
  | { readonly kind: 'waiting'; readonly forMs: number }
  | { readonly kind: 'failed'; readonly error: string };

export interface ImportParts {
  readonly strava: Pick<StravaClient, 'listActivities' | 'activity' | 'photos'>;
  readonly athletes: Athletes;
  readonly jobs: ImportJobs;
  readonly store: ActivityStore;
  readonly database: Database;
  readonly clock: Clock;
  readonly scale: TimeScale;
  readonly news: ImportNews;
}

interface Suspect {
  readonly pending: Pending;
  readonly part: 'detail' | 'photos';
  readonly error: string;
}

// Ten calls, then the next athlete's turn: nobody's history delays another's for longer.
const CALLS_A_TURN = 10;
const PAGE = 200;
// Several in a row that fail are the vendor's trouble, not theirs.
const OUTAGE = 3;
// A call that comes at a boundary or while all slots are taken waits here for its moment.
const WAIT_MS = 10_000;
const RETRY_AFTER_MS = [60_000, 300_000];
const SUSPECT_PAUSE_MS = 1_800_000;
// Strava leaves out of a page what we may not see, so only a page that is mostly empty is the last.
const LAST_PAGE = PAGE / 2;

/**
 * Some calls of one import: summaries first, then details, then photos, newest first. What is missing is read from the
 * rows, and each answer is committed before the next call, so that a worker that dies repeats one call at most.
 */
export class ImportTurn {
  private cursor: ImportCursor;
  private suspects: Suspect[] = [];

  constructor(
    private readonly parts: ImportParts,
    private readonly turn: Turn,
    private readonly signal: AbortSignal,
    private readonly isStopping: () => boolean,
  ) {
    this.cursor = turn.sync_cursor;
  }

  async run(): Promise<Outcome> {
    try {
      for (let calls = 0; calls < CALLS_A_TURN; calls += 1) {
        if (this.signal.aborted) return { kind: 'over' };
        if (this.isStopping()) return { kind: 'more' };
        const outcome = await this.step();
        if (outcome) return outcome;
      }
      return { kind: 'more' };
    } catch (error) {
      if (this.signal.aborted) return { kind: 'over' };
      return outcomeOf(error);
    }
  }

  /** One call of the vendor's; answers only where the turn is to end. */
  private async step(): Promise<Outcome | undefined> {
    if (this.cursor.phase === 'summaries') return this.listPage();
    const except = this.suspects.map(({ pending }) => pending.external_activity_id);
    const wanted = { athleteId: this.turn.athlete_id, since: this.turn.since, except };
    const detail = await this.parts.store.nextPending(this.parts.database, 'detail', wanted);
    if (detail) return this.fetchDetail(detail);
    const photos = await this.parts.store.nextPending(this.parts.database, 'photos', wanted);
    if (photos) return this.fetchPhotos(photos);
    return this.nothingDue();
  }

  private async listPage(): Promise<undefined> {
    const { strava, clock, store, jobs, news } = this.parts;
    const askedAt = new Date(clock.nowMs());
    const before = this.cursor.before === null ? undefined : new Date(this.cursor.before * 1_000);
    const page = await strava.listActivities(this.asker, { before, perPage: PAGE });
    const { since } = this.turn;
    const inRange = since ? page.filter(({ startTime }) => startTime >= since) : page;
    const isLast = page.length < LAST_PAGE || inRange.length < page.length;
    const oldest = page.reduce<Date | undefined>(
      (last, { startTime }) => (last && last <= startTime ? last : startTime),
      undefined,
    );
    await this.commit(async (sql) => {
      await store.saveSummaries(sql, this.turn.athlete_id, inRange, askedAt);
      if (oldest && !isLast)
        return jobs.moveOn(
          sql,
          this.turn,
          this.moved({ before: beforeOfNextPage(oldest, this.cursor.before) }),
        );
      const { total, stored } = await jobs.scope(sql, this.turn);
      return jobs.moveOn(
        sql,
        this.turn,
        this.moved({ phase: 'details', activities_imported: stored }),
        total,
      );
    });
    if (this.cursor.phase !== 'summaries') news.summariesIn.next(this.turn.athlete_id);
    return undefined;
  }

  private async fetchDetail(pending: Pending): Promise<Outcome | undefined> {
    const { strava, clock, store, jobs } = this.parts;
    const askedAt = new Date(clock.nowMs());
    return this.attempt({ pending, part: 'detail' }, async () => {
      const detail = await strava.activity(this.asker, pending.external_activity_id);
      await this.commit(async (sql) => {
        await store.saveDetail(sql, this.turn.athlete_id, detail, askedAt);
        const activities_imported = this.cursor.activities_imported + 1;
        return jobs.moveOn(
          sql,
          this.turn,
          this.moved({ phase: 'details', activities_imported, last_activity_id: detail.id }),
        );
      });
    });
  }

  private async fetchPhotos(pending: Pending): Promise<Outcome | undefined> {
    const { strava, store, jobs } = this.parts;
    return this.attempt({ pending, part: 'photos' }, async () => {
      const photos = await strava.photos(this.asker, pending.external_activity_id);
      await this.commit(async (sql) => {
        await store.savePhotos(sql, pending.id, photos);
        const photos_imported = this.cursor.photos_imported + photos.length;
        return jobs.moveOn(sql, this.turn, this.moved({ phase: 'photos', photos_imported }));
      });
    });
  }

  /** One that cannot be fetched is a suspect until another can: only then it is its own fault. */
  private async attempt(
    item: Omit<Suspect, 'error'>,
    work: () => Promise<void>,
  ): Promise<Outcome | undefined> {
    try {
      await work();
      await this.convictSuspects();
      return undefined;
    } catch (error) {
      if (error instanceof StravaNotFound || error instanceof StravaForbidden) {
        const { pending, part } = item;
        await this.note((sql) => this.parts.store.setAside(sql, pending.id, part, error.message));
        return undefined;
      }
      if (error instanceof StravaAnswerMalformed) {
        // It was answered, so the fault is its own.
        await this.convict({ ...item, error: error.message });
        return undefined;
      }
      if (!(error instanceof StravaOutage)) throw error;
      this.suspects.push({ ...item, error: error.message });
      return this.suspects.length < OUTAGE ? undefined : this.outage(error.message);
    }
  }

  private async nothingDue(): Promise<Outcome | undefined> {
    const { jobs, database, store } = this.parts;
    if (this.suspects.length > 0) {
      await this.convictSuspects();
      return undefined;
    }
    const scope = await jobs.scope(database, this.turn);
    if (scope.retry_in_ms !== null) return { kind: 'waiting', forMs: scope.retry_in_ms };
    const cursor = { ...this.cursor, activities_imported: scope.stored };
    await this.parts.athletes.inGeneration(this.turn.athlete_id, this.turn.generation, async (sql) => {
      const isOurs = await jobs.finish(sql, this.turn, { status: 'completed', cursor, total: scope.total });
      // What was recorded while it ran is the next one's.
      if (isOurs) await store.syncedSince(sql, this.turn.athlete_id, this.turn.created_at);
    });
    return { kind: 'over' };
  }

  private async convictSuspects(): Promise<void> {
    for (const suspect of this.suspects.splice(0)) await this.convict(suspect);
  }

  private async convict({ pending, part, error }: Suspect): Promise<void> {
    const { store, scale } = this.parts;
    await this.note((sql) => store.failed(sql, pending.id, part, error, RETRY_AFTER_MS.map(scale.wait)));
  }

  /** Nobody's fault; but the next turn begins with others, in case it was theirs after all. */
  private async outage(error: string): Promise<Outcome> {
    const { store, scale } = this.parts;
    for (const { pending, part } of this.suspects.splice(0))
      await this.note((sql) => store.postpone(sql, pending.id, part, scale.wait(SUSPECT_PAUSE_MS)));
    return { kind: 'outage', error };
  }

  /** What became of an activity, where there is nothing of it to store. */
  private note(write: (sql: Sql) => Promise<void>): Promise<void> {
    return this.commit(async (sql) => {
      await write(sql);
      return this.parts.jobs.isCurrent(sql, this.turn);
    });
  }

  /** Rows and cursor in one transaction; neither where the turn is over, or the connection has been cut since it began. */
  private async commit(work: (sql: Sql) => Promise<boolean>): Promise<void> {
    const { athlete_id, generation } = this.turn;
    await this.parts.athletes.inGeneration(athlete_id, generation, async (sql) => {
      const isOurs = await work(sql);
      if (!isOurs) throw new TurnOver();
    });
  }

  private moved(change: Partial<ImportCursor>): ImportCursor {
    this.cursor = { ...this.cursor, ...change };
    return this.cursor;
  }

  private get asker() {
    return {
      athleteId: this.turn.athlete_id,
      class: 'import' as const,
      signal: this.signal,
      waitMs: WAIT_MS,
    };
  }
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof StravaRateLimited) return { kind: 'limited', forMs: error.retryAfterMs };
  if (error instanceof StravaBudgetUnavailable) return { kind: 'unmetered' };
  if (error instanceof ConnectionCut || error instanceof TurnOver) return { kind: 'over' };
  if (error instanceof StravaTokenRevoked || error instanceof NeedsReauth || error instanceof NotConnected)
    return { kind: 'failed', error: 'Strava does not accept the connection any more: connect again' };
  const isAway = error instanceof AppError && error.kind === 'unavailable';
  if (isAway || error instanceof StravaForbidden) return { kind: 'outage', error: error.message };
  throw error;
}
