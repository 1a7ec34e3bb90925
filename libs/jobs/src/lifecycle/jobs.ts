import { Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound, type Sql } from '#platform';
import {
  type ActivityState,
  type Enqueued,
  type Job,
  type JobRequest,
  type JobStatus,
  type JobWithRuns,
} from './job.js';
import { JobFinished } from './jobs.errors.js';
import { MOST_ATTEMPTS, PRIORITY } from './retry-policy.js';

const recordDiscovered = loadSql(import.meta.url, './sql/record-discovered.sql');
const enqueue = loadSql(import.meta.url, './sql/enqueue.sql');
const cancel = loadSql(import.meta.url, './sql/cancel.sql');
const findJob = loadSql(import.meta.url, './sql/find-job.sql');
const findState = loadSql(import.meta.url, './sql/find-state.sql');
const countWaiting = loadSql(import.meta.url, './sql/count-waiting.sql');
const countJobs = loadSql(import.meta.url, './sql/count-jobs.sql');

type EnqueuedRow = Job & { readonly is_processed: boolean; readonly is_new: boolean | null };

/**
 * For those who want activities processed. Which state leads where is the database's business (docs/job-lifecycle.md): what
 * is written here passes its trigger, or fails.
 */
@Injectable()
export class Jobs {
  constructor(private readonly database: Database) {}

  /** The runtime has come across these; answers those that exist. */
  async recordDiscovered(activityIds: readonly string[], sql: Sql = this.database): Promise<string[]> {
    const { rows } = await sql.query<{ id: string }>(recordDiscovered, [activityIds]);
    return rows.map(({ id }) => id);
  }

  /** In the transaction of `sql`: workers hear of it when that commits, and never if it does not. */
  async enqueue(request: JobRequest, sql: Sql = this.database): Promise<Enqueued[]> {
    const { athleteId, activityIds, kind, requestedBy, force = false, priority = PRIORITY[kind] } = request;
    const values = [activityIds, athleteId, kind, requestedBy, force, priority, MOST_ATTEMPTS];
    const { rows } = await sql.query<EnqueuedRow>(enqueue, values);
    return rows.map(enqueuedOf);
  }

  async cancel(athleteId: string, jobId: string): Promise<JobWithRuns> {
    const { count } = await this.database.query(cancel, [jobId, athleteId]);
    const job = await this.find(athleteId, jobId);
    if (count === 0) throw new JobFinished();
    return job;
  }

  async find(athleteId: string, jobId: string): Promise<JobWithRuns> {
    const { rows } = await this.database.query<JobWithRuns>(findJob, [jobId, athleteId]);
    if (!rows[0]) throw new NotFound('No such job');
    return rows[0];
  }

  /** Throws NotFound where the athlete has no such activity; without a job its state is null. */
  async stateOf(athleteId: string, activityId: string): Promise<ActivityState> {
    const { rows } = await this.database.query<ActivityState>(findState, [activityId, athleteId]);
    if (!rows[0]) throw new NotFound('No such activity');
    return rows[0];
  }

  /** Automatic wishes that nobody has begun with; `most` or fewer. */
  async countWaiting(most: number, sql: Sql = this.database): Promise<number> {
    const { rows } = await sql.query<{ waiting: number }>(countWaiting, [most]);
    return rows[0]?.waiting ?? 0;
  }

  async countByStatus(): Promise<ReadonlyMap<JobStatus, number>> {
    const { rows } = await this.database.query<{ status: JobStatus; jobs: number }>(countJobs);
    return new Map(rows.map(({ status, jobs }) => [status, jobs]));
  }
}

function enqueuedOf({ is_processed, is_new, ...row }: EnqueuedRow): Enqueued {
  if (is_processed) return { kind: 'already_processed', activityId: row.activity_id };
  return { kind: is_new ? 'queued' : 'joined', job: jobOf(row) };
}

function jobOf(row: Job): Job {
  const { job_id, activity_id, request_kind, force_update, status, attempt_count, max_attempts, last_error } =
    row;
  return { job_id, activity_id, request_kind, force_update, status, attempt_count, max_attempts, last_error };
}
