import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

const PAGE = 100;
const AT_ONCE = 1_000;

interface Exported {
  readonly place: string;
}

/** What the account exports and deletes of ours: what was asked for, each attempt at it, and what is known by it. */
@Injectable()
abstract class ProcessingRecords {
  readonly provider = 'strava';
  protected abstract readonly selection: string;
  protected abstract readonly deletion: string;

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    let after: string | null = null;
    for (;;) {
      const { rows }: { rows: Exported[] } = await this.database.query<Exported>(this.selection, [
        athleteId,
        after,
        PAGE,
      ]);
      if (rows.length === 0) return;
      yield rows.map(({ place: _place, ...record }) => record);
      after = (rows.at(-1) as Exported).place;
    }
  }

  /** What is made meanwhile goes with its activity. A run that is under way finds its job gone, and writes nothing. */
  async deleteSome(sql: Sql, athleteId: string): Promise<number> {
    const { count } = await sql.query(this.deletion, [athleteId, AT_ONCE]);
    return count;
  }
}

@Injectable()
export class JobRecords extends ProcessingRecords {
  readonly name = 'processing_jobs';
  protected readonly selection = `
    select
      job_id as place, job_id, activity_id, request_kind, requested_by, force_update, status, attempt_count, requested_at_utc,
      started_at_utc, finished_at_utc, last_error
    from jobs
    join activity on activity.id = activity_id
    where athlete_id = $1 and ($2::uuid is null or job_id > $2)
    order by job_id
    limit $3`;

  protected readonly deletion = `
    delete from jobs
    where job_id in (
      select job_id
      from jobs
      join activity on activity.id = activity_id
      where athlete_id = $1
      limit $2
    )`;
}

/** By way of their jobs, of which there is an index by activity. */
@Injectable()
export class RunRecords extends ProcessingRecords {
  readonly name = 'processing_runs';
  protected readonly selection = `
    select
      runs.run_id as place, runs.run_id, job_id, runs.activity_id, attempt_number, runs.status, runs.started_at_utc,
      runs.finished_at_utc, error, result_json
    from runs
    join jobs using (job_id)
    join activity on activity.id = jobs.activity_id
    where athlete_id = $1 and ($2::uuid is null or runs.run_id > $2)
    order by runs.run_id
    limit $3`;

  protected readonly deletion = `
    delete from runs
    where run_id in (
      select runs.run_id
      from runs
      join jobs using (job_id)
      join activity on activity.id = jobs.activity_id
      where athlete_id = $1
      limit $2
    )`;
}

@Injectable()
export class StateRecords extends ProcessingRecords {
  readonly name = 'processing_states';
  protected readonly selection = `
    select
      activity_id as place, activity_id, state, last_job_id, last_run_id, last_profile_id, last_title, last_description_hash,
      last_result_status, last_error, processed_at_utc, activity_state.updated_at_utc
    from activity_state
    join activity on activity.id = activity_id
    left join processed_activities using (activity_id)
    where athlete_id = $1 and ($2::uuid is null or activity_id > $2)
    order by activity_id
    limit $3`;

  protected readonly deletion = `
    delete from activity_state
    where activity_id in (
      select activity_id
      from activity_state
      join activity on activity.id = activity_id
      where athlete_id = $1
      limit $2
    )`;
}

/** In the order of their deletion: a job takes its runs along, so they are counted before. */
export const processingRecords = [RunRecords, JobRecords, StateRecords];
