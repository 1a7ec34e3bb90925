import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, type Sql, type Statement, TIME_SCALE, type TimeScale } from '#platform';
import { retryArguments } from './retry-policy.js';

const listFailures = unnamed('./sql/list-failures.sql');
const countFailed = unnamed('./sql/count-failed.sql');
const resetFailed = unnamed('./sql/reset-failed.sql');

// More reasons than these would not fit on a page.
const MOST_REASONS = 100;
const SAMPLES = 5;

/** An activity whose streams failed. */
interface FailureSample {
  readonly activity_id: string;
  readonly athlete_id: string;
  readonly name: string;
  /** Null: only a reset makes the fetch due again. */
  readonly retry_at: Date | null;
}

/** The failed fetches with one reason. */
export interface FailureGroup {
  readonly error: string;
  readonly count: number;
  /** Their attempts are used up. */
  readonly stuck: number;
  /** They are retried without a reset. */
  readonly retrying: number;
  /** The earliest and the latest attempt. */
  readonly oldest_at: Date;
  readonly newest_at: Date;
  /** At most five, newest attempt first. */
  readonly samples: readonly FailureSample[];
}

/** Selects failed fetches. Without any field, it selects all. */
export interface FailedFilter {
  readonly error?: string;
  readonly athleteId?: string;
}

type FailureRow = Omit<FailureGroup, 'samples' | 'retrying'> & FailureSample;

/** The failed stream fetches of all athletes, as operators see and reset them. */
@Injectable()
export class FailedFetches {
  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** The most frequent reasons first, at most 100. `error`: only this reason. */
  async byReason(error?: string): Promise<readonly FailureGroup[]> {
    const values = [...retryArguments(this.scale), error ?? null, SAMPLES, MOST_REASONS];
    const { rows } = await this.database.query<FailureRow>(listFailures, values);
    const groups = new Map<string, FailureGroup & { readonly samples: FailureSample[] }>();
    for (const { activity_id, athlete_id, name, retry_at, ...reason } of rows) {
      const group = groups.get(reason.error) ?? {
        ...reason,
        retrying: reason.count - reason.stuck,
        samples: [],
      };
      group.samples.push({ activity_id, athlete_id, name, retry_at });
      groups.set(reason.error, group);
    }
    return [...groups.values()];
  }

  /** Counts the matching fetches that were attempted at `until` or earlier. */
  async count(sql: Sql, { error, athleteId }: FailedFilter, until: Date): Promise<number> {
    const values = [error ?? null, athleteId ?? null, until];
    return (await sql.query<{ count: number }>(countFailed, values)).rows[0]?.count ?? 0;
  }

  /**
   * Resets at most `limit` of the fetches that `count` counts, and returns the athlete of each. Leaves out rows that another transaction has
   * locked.
   */
  async resetSome(
    sql: Sql,
    { error, athleteId }: FailedFilter,
    until: Date,
    limit: number,
  ): Promise<readonly string[]> {
    const values = [error ?? null, athleteId ?? null, until, limit];
    const { rows } = await sql.query<{ athlete_id: string }>(resetFailed, values);
    return rows.map(({ athlete_id }) => athlete_id);
  }
}

/** Without a name Postgres plans each statement for its values. A plan for any values would ignore a filter that selects few rows. */
function unnamed(file: string): Statement {
  return { text: loadSql(import.meta.url, file).text };
}
