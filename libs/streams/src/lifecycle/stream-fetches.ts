import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound, TIME_SCALE, type TimeScale } from '#platform';
import { type Stored } from '../reading/answer.js';
import { type Claim, type FetchState } from './fetch-state.js';
import { FRESH_FOR_MS, patienceAt } from './retry-policy.js';

const claim = loadSql(import.meta.url, './sql/claim.sql');
const succeed = loadSql(import.meta.url, './sql/succeed.sql');
const fail = loadSql(import.meta.url, './sql/fail.sql');
const defer = loadSql(import.meta.url, './sql/defer.sql');
const giveUp = loadSql(import.meta.url, './sql/give-up.sql');
const cleanUp = loadSql(import.meta.url, './sql/clean-up.sql');
const reset = loadSql(import.meta.url, './sql/reset.sql');
const due = loadSql(import.meta.url, './sql/due.sql');
const athletesWithDue = loadSql(import.meta.url, './sql/athletes-with-due.sql');

export interface Due {
  readonly id: string;
  readonly external_activity_id: string;
}

export interface Deferral {
  readonly reason: string;
  readonly forMs: number;
  /** The vendor had nothing yet, and is asked only so many times more. */
  readonly isEmpty: boolean;
}

/**
 * The fetch states of activities. Which state leads where is the database's business (docs/stream-lifecycle.md): what is
 * written here passes its triggers, or fails.
 */
@Injectable()
export class StreamFetches {
  private readonly patience: ReturnType<typeof patienceAt>;

  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    this.patience = patienceAt(scale);
  }

  /** Nothing: another has it, or it is not its time. */
  async claim(activityId: string): Promise<Claim | undefined> {
    const { rows } = await this.database.query<Claim>(claim, [activityId, ...this.patience, FRESH_FOR_MS]);
    return rows[0];
  }

  /** All endings answer false where the claim is over: by a cleanup, a reset, or because the activity is gone. */
  async succeed({ id, fence }: Claim, source: string, fetchedAt: Date, stored: Stored): Promise<boolean> {
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
    return this.isOurs(succeed, values);
  }

  fail({ id, fence }: Claim, error: string): Promise<boolean> {
    return this.isOurs(fail, [id, fence, error]);
  }

  defer({ id, fence }: Claim, { reason, forMs, isEmpty }: Deferral): Promise<boolean> {
    return this.isOurs(defer, [id, fence, reason, forMs, isEmpty ? 1 : 0]);
  }

  giveUp({ id, fence }: Claim): Promise<boolean> {
    return this.isOurs(giveUp, [id, fence]);
  }

  async cleanUp(
    staleAfterMs: number,
  ): Promise<ReadonlyArray<{ readonly id: string; readonly athlete_id: string }>> {
    const { rows } = await this.database.query<{ id: string; athlete_id: string }>(cleanUp, [staleAfterMs]);
    return rows;
  }

  async reset(activityId: string): Promise<FetchState> {
    const { rows } = await this.database.query<FetchState>(reset, [activityId]);
    if (!rows[0]) throw new NotFound('No such activity');
    return rows[0];
  }

  async due(athleteId: string, limit: number): Promise<readonly Due[]> {
    const { rows } = await this.database.query<Due>(due, [athleteId, ...this.patience, limit]);
    return rows;
  }

  async athletesWithDue(): Promise<readonly string[]> {
    const { rows } = await this.database.query<{ athlete_id: string }>(athletesWithDue, [...this.patience]);
    return rows.map(({ athlete_id }) => athlete_id);
  }

  private async isOurs(statement: ReturnType<typeof loadSql>, values: readonly unknown[]): Promise<boolean> {
    const { count } = await this.database.query(statement, values);
    return count > 0;
  }
}
