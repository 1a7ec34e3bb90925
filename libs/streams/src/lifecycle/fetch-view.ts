import { Inject, Injectable } from '@nestjs/common';
import { Database, leaseLength, loadSql, NotFound, TIME_SCALE, type TimeScale } from '#platform';
import { LONGEST_CALL_MS, type VendorId } from '#vendors';
import { MOST_ATTEMPTS, retryArguments, STALE_AFTER_MS } from './retry-policy.js';
import { type FetchStatus } from './stream-fetches.js';

const findFetch = loadSql(import.meta.url, './sql/find-fetch.sql');

/** An activity and where its stream fetch stands, as operators see it. */
interface FetchView {
  readonly activity_id: string;
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly external_activity_id: string | null;
  readonly name: string;
  readonly sport_type: string;
  readonly start_time: Date;
  readonly manual: boolean;
  /** Null: the athlete is no longer connected to the vendor. */
  readonly connection_status: string | null;
  readonly stream: {
    readonly status: FetchStatus;
    readonly error: string | null;
    readonly retry_count: number;
    /** Attempts until the fetch is stuck. */
    readonly attempts_left: number;
    /** Answers without streams; counted only for a fresh upload. */
    readonly empty_count: number;
    readonly attempted_at: Date | null;
    readonly deferred_until: Date | null;
    /** While `fetching`: from this time on, the cleanup ends the attempt. */
    readonly given_up_at: Date | null;
    /** Null while `pending`, and if no attempt follows. */
    readonly next_attempt_at: Date | null;
    /** An attempt may begin now; it waits for its turn and for the vendor's limits. */
    readonly is_due: boolean;
    /** The streams that readers get; null without any. */
    readonly stored: {
      readonly point_count: number;
      readonly channels: readonly string[];
      readonly fetched_at: Date;
    } | null;
  };
}

type Stream = FetchView['stream'];
type Row = Omit<FetchView, 'stream'> &
  Omit<Stream, 'stored' | 'attempts_left'> & {
    readonly stored_points: number | null;
    readonly stored_channels: readonly string[];
    readonly stored_at: Date;
  };

/** Reads the fetch of one activity of any athlete. */
@Injectable()
export class FetchViews {
  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  async find(activityId: string): Promise<FetchView> {
    const staleAfterMs = leaseLength(this.scale, STALE_AFTER_MS, LONGEST_CALL_MS);
    const values = [activityId, ...retryArguments(this.scale), staleAfterMs];
    const { rows } = await this.database.query<Row>(findFetch, values);
    if (!rows[0]) throw new NotFound('No such activity');
    return viewOf(rows[0]);
  }
}

function viewOf(row: Row): FetchView {
  const { status, error, retry_count, empty_count, attempted_at, deferred_until, ...others } = row;
  const { given_up_at, next_attempt_at, is_due, stored_points, stored_channels, stored_at, ...activity } =
    others;
  return {
    ...activity,
    stream: {
      status,
      error,
      retry_count,
      attempts_left: Math.max(0, MOST_ATTEMPTS - retry_count),
      empty_count,
      attempted_at,
      deferred_until,
      given_up_at,
      next_attempt_at,
      is_due,
      stored:
        stored_points === null
          ? null
          : { point_count: stored_points, channels: stored_channels, fetched_at: stored_at },
    },
  };
}
