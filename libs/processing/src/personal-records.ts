import { Injectable } from '@nestjs/common';
import { Database, pagesByBytes, pagesOf, type Sql } from '#platform';

const PAGE = 100;
// A run's result has up to 256 KB.
const PAGE_OF_RUNS = 20;
const AT_ONCE = 1_000;

/** Exports and deletes an athlete's processing data: jobs, runs and the states of activities. */
@Injectable()
abstract class ProcessingRecords {
  readonly provider = 'any';
  protected abstract readonly key: string;
  protected abstract readonly selection: string;
  protected abstract readonly deletion: string;

  constructor(protected readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    return pagesOf(this.database, this.selection, { athleteId, by: this.key, size: PAGE });
  }

  /** Rows created meanwhile are deleted with their activity. A run under way finds its job gone and writes nothing. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const { count } = await sql.query(this.deletion, [athleteId, AT_ONCE, provider]);
    return count;
  }
}

@Injectable()
class JobRecords extends ProcessingRecords {
  readonly name = 'processing_jobs';
  protected readonly key = 'job_id';
  protected readonly selection = `
    select
      job_id, activity_id, request_kind, requested_by, force_update, status, attempt_count, requested_at_utc,
      started_at_utc, finished_at_utc, last_error
    from jobs
    join activity on activity.athlete_id = jobs.athlete_id and activity.id = activity_id
    where activity.athlete_id = $1 and ($2::uuid is null or job_id > $2)
    order by job_id
    limit $3`;

  protected readonly deletion = `
    delete from jobs
    where athlete_id = $1 and job_id in (
      select job_id
      from jobs
      join activity on activity.athlete_id = jobs.athlete_id and activity.id = activity_id
      where activity.athlete_id = $1 and ($3::text is null or provider = $3)
      limit $2
    )`;
}

/** Joins runs through their jobs, since only jobs have an index by activity. */
@Injectable()
class RunRecords extends ProcessingRecords {
  readonly name = 'processing_runs';
  protected readonly key = 'run_id';
  protected readonly selection = `
    select
      runs.run_id, job_id, runs.activity_id, attempt_number, runs.status, runs.started_at_utc,
      runs.finished_at_utc, error, result_json, coalesce(octet_length(result_json::text), 0) as bytes
    from runs
    join jobs using (athlete_id, job_id)
    join activity on activity.athlete_id = jobs.athlete_id and activity.id = jobs.activity_id
    where activity.athlete_id = $1 and ($2::uuid is null or runs.run_id > $2)
    order by runs.run_id
    limit $3`;

  protected readonly deletion = `
    delete from runs
    where athlete_id = $1 and run_id in (
      select runs.run_id
      from runs
      join jobs using (athlete_id, job_id)
      join activity on activity.athlete_id = jobs.athlete_id and activity.id = jobs.activity_id
      where activity.athlete_id = $1 and ($3::text is null or provider = $3)
      limit $2
    )`;

  override read(athleteId: string): AsyncIterable<readonly object[]> {
    return pagesByBytes(this.database, this.selection, { athleteId, by: this.key, size: PAGE_OF_RUNS });
  }
}

@Injectable()
class StateRecords extends ProcessingRecords {
  readonly name = 'processing_states';
  protected readonly key = 'activity_id';
  protected readonly selection = `
    select
      activity_state.activity_id, state, last_job_id, last_run_id, last_profile_id, last_title, last_description_hash,
      last_result_status, last_error, processed_at_utc, activity_state.updated_at_utc
    from activity_state
    join activity on activity.athlete_id = activity_state.athlete_id and activity.id = activity_state.activity_id
    left join processed_activities
      on processed_activities.athlete_id = activity_state.athlete_id
      and processed_activities.activity_id = activity_state.activity_id
    where activity.athlete_id = $1 and ($2::uuid is null or activity_state.activity_id > $2)
    order by activity_state.activity_id
    limit $3`;

  protected readonly deletion = `
    delete from activity_state
    where athlete_id = $1 and activity_id in (
      select activity_id
      from activity_state
      join activity on activity.athlete_id = activity_state.athlete_id and activity.id = activity_id
      where activity.athlete_id = $1 and ($3::text is null or provider = $3)
      limit $2
    )`;
}

/** In the order of deletion: deleting a job deletes its runs, so the runs are deleted and counted first. */
export const processingRecords = [RunRecords, JobRecords, StateRecords];
