import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, TIME_SCALE, type TimeScale } from '#platform';
import { FETCH_STATUSES, type FetchStatus } from '../lifecycle/fetch-state.js';
import { MOST_ATTEMPTS, patienceAt } from '../lifecycle/retry-policy.js';

const countStatuses = loadSql(import.meta.url, './sql/count-statuses.sql');
const countByAthlete = loadSql(import.meta.url, './sql/count-by-athlete.sql');
const countLeft = loadSql(import.meta.url, './sql/count-left.sql');
const countRetries = loadSql(import.meta.url, './sql/count-retries.sql');

export type CountByStatus = Readonly<Record<FetchStatus, number>>;

export interface StreamOverview {
  readonly byStatus: CountByStatus;
  /** Failed ones by how often they have failed. */
  readonly byRetries: ReadonlyMap<number, number>;
  /** Failed too often: only a reset helps. */
  readonly stuck: number;
}

export interface AthleteCount extends CountByStatus {
  readonly athlete_id: string;
}

/** What an athlete still waits for. */
export interface StreamsLeft {
  readonly calls: number;
  /** The last deferred one is not fetched before. */
  readonly notBefore: Date | null;
}

/** How far the fetching of streams is. */
@Injectable()
export class StreamCounts {
  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  async overview(): Promise<StreamOverview> {
    const [counted, retried] = await Promise.all([
      this.database.query<{ status: FetchStatus; activities: number }>(countStatuses),
      this.database.query<{ retries: number; activities: number }>(countRetries),
    ]);
    const byStatus = none();
    for (const { status, activities } of counted.rows) byStatus[status] = activities;
    const byRetries = new Map(retried.rows.map(({ retries, activities }) => [retries, activities]));
    const stuck = retried.rows.reduce(
      (sum, row) => (row.retries >= MOST_ATTEMPTS ? sum + row.activities : sum),
      0,
    );
    return { byStatus, byRetries, stuck };
  }

  /** At most so many athletes, those who wait for most. */
  async byAthlete(most: number): Promise<readonly AthleteCount[]> {
    const { rows } = await this.database.query<AthleteCount>(countByAthlete, [most]);
    return rows;
  }

  async left(): Promise<ReadonlyMap<string, StreamsLeft>> {
    type Row = { athlete_id: string; calls: number; not_before: Date | null };
    const { rows } = await this.database.query<Row>(countLeft, [...patienceAt(this.scale)]);
    return new Map(
      rows.map(({ athlete_id, calls, not_before }) => [athlete_id, { calls, notBefore: not_before }]),
    );
  }
}

function none(): Record<FetchStatus, number> {
  return Object.fromEntries(FETCH_STATUSES.map((status) => [status, 0])) as Record<FetchStatus, number>;
}
