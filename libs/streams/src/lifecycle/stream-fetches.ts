import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound, type Sql, TIME_SCALE, type TimeScale } from '#platform';
import { type VendorId, vendorsWith } from '#vendors';
import { type Stored } from '../reading/answer.js';
import { FRESH_FOR_MS, retryArguments } from './retry-policy.js';

const claim = loadSql(import.meta.url, './sql/claim.sql');
const succeed = loadSql(import.meta.url, './sql/succeed.sql');
const fail = loadSql(import.meta.url, './sql/fail.sql');
const defer = loadSql(import.meta.url, './sql/defer.sql');
const giveUp = loadSql(import.meta.url, './sql/give-up.sql');
const cleanUp = loadSql(import.meta.url, './sql/clean-up.sql');
const reset = loadSql(import.meta.url, './sql/reset.sql');
const due = loadSql(import.meta.url, './sql/due.sql');
const athletesWithDue = loadSql(import.meta.url, './sql/athletes-with-due.sql');

export const FETCH_STATUSES = [
  'pending',
  'fetching',
  'success',
  'failed',
  'deferred',
  'unavailable',
] as const;
export type FetchStatus = (typeof FETCH_STATUSES)[number];

/** The fetch state of one activity, as operators see it. */
export interface FetchState {
  readonly activity_id: string;
  readonly athlete_id: string;
  readonly status: FetchStatus;
  readonly error: string | null;
  readonly retry_count: number;
  readonly attempted_at: Date | null;
  readonly deferred_until: Date | null;
}

/** The right to write the outcome of one attempt, as long as the fence is current. */
export interface FetchClaim {
  readonly id: string;
  readonly fence: string;
  readonly retry_count: number;
  readonly empty_count: number;
  /** The activity ended, or its create event arrived, less than 24 hours ago, so its streams may still come. */
  readonly is_fresh: boolean;
}

/** An athlete's activities at one vendor. Each has a backfill of its own. */
export interface BackfillOwner {
  readonly athleteId: string;
  readonly provider: VendorId;
}

export interface DueFetch {
  readonly id: string;
  readonly provider: VendorId;
  readonly external_activity_id: string;
}

interface Deferral {
  readonly reason: string;
  readonly forMs: number;
  /** The vendor has no streams yet. Such deferrals are counted: after three, the next empty answer makes the activity `unavailable`. */
  readonly isEmpty: boolean;
}

/**
 * Reads and writes the fetch states of activities. A trigger in the database alone decides which transitions are allowed
 * (docs/stream-lifecycle.md). Every write of an outcome requires the fence of its claim. The write returns false if a cleanup
 * or a reset has ended the claim, or if the activity was deleted.
 */
@Injectable()
export class StreamFetches {
  private readonly retry: ReturnType<typeof retryArguments>;

  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    this.retry = retryArguments(scale);
  }

  /** Undefined if another worker has claimed the activity, or if the activity is not due. */
  async claim(activityId: string): Promise<FetchClaim | undefined> {
    const { rows } = await this.database.query<FetchClaim>(claim, [activityId, ...this.retry, FRESH_FOR_MS]);
    return rows[0];
  }

  async succeed(
    { id, fence }: FetchClaim,
    source: string,
    fetchedAt: Date,
    stored: Stored,
  ): Promise<boolean> {
    const { streamData, channels, pointCount, body, etag } = stored;
    const values = [
      id,
      fence,
      streamData,
      JSON.stringify(channels),
      pointCount,
      source,
      fetchedAt,
      body,
      etag,
    ];
    return this.writeFenced(succeed, values);
  }

  fail({ id, fence }: FetchClaim, error: string): Promise<boolean> {
    return this.writeFenced(fail, [id, fence, error]);
  }

  defer({ id, fence }: FetchClaim, { reason, forMs, isEmpty }: Deferral): Promise<boolean> {
    return this.writeFenced(defer, [id, fence, reason, forMs, isEmpty ? 1 : 0]);
  }

  giveUp({ id, fence }: FetchClaim): Promise<boolean> {
    return this.writeFenced(giveUp, [id, fence]);
  }

  async cleanUp(
    staleAfterMs: number,
  ): Promise<ReadonlyArray<{ readonly id: string; readonly athlete_id: string }>> {
    const { rows } = await this.database.query<{ id: string; athlete_id: string }>(cleanUp, [staleAfterMs]);
    return rows;
  }

  async reset(activityId: string, sql: Sql = this.database): Promise<FetchState> {
    const { rows } = await sql.query<FetchState>(reset, [activityId, vendorsWith('streams')]);
    if (!rows[0]) throw new NotFound('No such activity');
    return rows[0];
  }

  async due({ athleteId, provider }: BackfillOwner, limit: number): Promise<readonly DueFetch[]> {
    const values = [athleteId, ...this.retry, limit, provider];
    const { rows } = await this.database.query<DueFetch>(due, values);
    return rows;
  }

  async athletesWithDue(): Promise<readonly BackfillOwner[]> {
    type Row = { athlete_id: string; provider: VendorId };
    const values = [...this.retry, vendorsWith('streams')];
    const { rows } = await this.database.query<Row>(athletesWithDue, values);
    return rows.map(({ athlete_id: athleteId, provider }) => ({ athleteId, provider }));
  }

  private async writeFenced(
    statement: ReturnType<typeof loadSql>,
    values: readonly unknown[],
  ): Promise<boolean> {
    const { count } = await this.database.query(statement, values);
    return count > 0;
  }
}
