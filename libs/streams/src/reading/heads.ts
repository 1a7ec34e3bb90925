import { Inject, Injectable } from '@nestjs/common';
import { Database, Gather, loadSql, TIME_SCALE, type TimeScale } from '#platform';
import { type VendorId } from '#vendors';
import { type FetchStatus } from '../lifecycle/stream-fetches.js';
import { retryArguments } from '../lifecycle/retry-policy.js';

const findHeads = loadSql(import.meta.url, './sql/find-heads.sql');

/** The state of an activity's streams, without their data. */
export interface StreamHead {
  readonly external_activity_id: string | null;
  readonly source: VendorId;
  /** The status in the answer: `success` if streams are stored. */
  readonly status: FetchStatus;
  /** The state of the fetch. While stored streams are fetched again, this field changes and `status` stays `success`. */
  readonly fetch_status: FetchStatus;
  readonly error: string | null;
  readonly retry_at: Date | null;
  /** Null if no streams are stored. */
  readonly version: string | null;
}

interface HeadRequest {
  readonly athleteId: string;
  readonly activityId: string;
}

// Requests that arrive during a statement share the next statement, since a statement costs more than its rows.
const MOST_AT_ONCE = 1;

/**
 * Reads the state and the current version of an activity's streams, if the activity belongs to the athlete. Nothing is cached,
 * so deleted or replaced streams are never served. Requests of one turn of the event loop share one statement.
 */
@Injectable()
export class Heads {
  private readonly requests = new Gather<HeadRequest, StreamHead | undefined>(
    (requests) => this.findAll(requests),
    {
      turnEnd: 'poll',
      mostAtOnce: MOST_AT_ONCE,
    },
  );

  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** Undefined if the athlete has no such activity. */
  find(athleteId: string, activityId: string): Promise<StreamHead | undefined> {
    return this.requests.submit({ athleteId, activityId });
  }

  private async findAll(requests: readonly HeadRequest[]): Promise<Array<StreamHead | undefined>> {
    const activityIds = requests.map(({ activityId }) => activityId);
    const athleteIds = requests.map(({ athleteId }) => athleteId);
    const values = [activityIds, athleteIds, ...retryArguments(this.scale)];
    const { rows } = await this.database.query<StreamHead & { place: number }>(findHeads, values);
    const heads = new Array<StreamHead | undefined>(requests.length);
    for (const { place, ...head } of rows) heads[place - 1] = head;
    return heads;
  }
}
