import { Injectable } from '@nestjs/common';
import {
  AppError,
  Database,
  deletePast,
  loadSql,
  NO_ORIGIN,
  NotFound,
  roughCount,
  type Sql,
} from '#platform';
import {
  type ActivityState,
  type Enqueued,
  type Job,
  type JobRequest,
  type JobStatus,
  type JobWithRuns,
} from './job.js';
import { MOST_ATTEMPTS, PRIORITY } from './retry-policy.js';

const recordDiscovered = loadSql(import.meta.url, './sql/record-discovered.sql');
const enqueue = loadSql(import.meta.url, './sql/enqueue.sql');
const cancel = loadSql(import.meta.url, './sql/cancel.sql');
const findJob = loadSql(import.meta.url, './sql/find-job.sql');
const findState = loadSql(import.meta.url, './sql/find-state.sql');
const countWaiting = loadSql(import.meta.url, './sql/count-waiting.sql');
const countUnfinished = loadSql(import.meta.url, './sql/count-unfinished.sql');
const purgeSuperseded = loadSql(import.meta.url, './sql/purge-superseded.sql');

const ENDED = ['succeeded', 'failed_permanent', 'cancelled'] as const;

type EnqueuedRow = Job & { readonly is_processed: boolean; readonly is_new: boolean | null };

/** The job to cancel has already ended. */
export class JobFinished extends AppError {
  override readonly code = 'JOB_FINISHED';
  override readonly kind = 'conflict';
  constructor() {
    super('The job has already finished');
  }
}

/**
 * The requester's side of jobs: enqueue, cancel, find and count them. A database trigger allows only the state changes in
 * docs/job-lifecycle.md, so a wrong statement here fails.
 */
@Injectable()
export class Jobs {
  constructor(private readonly database: Database) {}

  /** Records that discovery has seen these activities in their present revision; returns the ids that exist. */
  async recordDiscovered(activityIds: readonly string[], sql: Sql = this.database): Promise<string[]> {
    const { rows } = await sql.query<{ id: string }>(recordDiscovered, [activityIds]);
    return rows.map(({ id }) => id);
  }

  /** Enqueues in the transaction of `sql`. Workers are notified when this transaction commits, and not if it rolls back. */
  async enqueue(request: JobRequest, sql: Sql = this.database): Promise<Enqueued[]> {
    const { athleteId, activityIds, kind, requestedBy, force = false, priority = PRIORITY[kind] } = request;
    const { requestId, traceparent } = request.origin ?? NO_ORIGIN;
    const asked = [activityIds, athleteId, kind, requestedBy, force, priority, MOST_ATTEMPTS];
    const values = [...asked, requestId, traceparent];
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

  /** Throws NotFound if the athlete has no such activity. Before the activity's first job, `state` is null. */
  async stateOf(athleteId: string, activityId: string): Promise<ActivityState> {
    const { rows } = await this.database.query<ActivityState>(findState, [activityId, athleteId]);
    if (!rows[0]) throw new NotFound('No such activity');
    return rows[0];
  }

  /** Counts automatic jobs that wait for a worker, up to `most`. */
  async countWaiting(most: number, sql: Sql = this.database): Promise<number> {
    const { rows } = await sql.query<{ waiting: number }>(countWaiting, [most]);
    return rows[0]?.waiting ?? 0;
  }

  /** Counts unfinished jobs exactly. Counts up to 1,000 ended jobs of a status exactly; a larger count is Postgres' estimate. */
  async countByStatus(): Promise<ReadonlyMap<JobStatus, number>> {
    const { rows } = await this.database.query<{ status: JobStatus; jobs: number }>(countUnfinished);
    const counts = new Map(rows.map(({ status, jobs }) => [status, jobs]));
    for (const status of ENDED) {
      const count = await roughCount(this.database, 'jobs', `status = '${status}'`);
      if (count > 0) counts.set(status, count);
    }
    return counts;
  }

  /** Deletes jobs, with their runs, that a newer job of the activity superseded more than `keptMs` ago. Returns the number of jobs. */
  purge(keptMs: number): Promise<number> {
    return deletePast(this.database, purgeSuperseded, keptMs);
  }
}

function enqueuedOf({ is_processed, is_new, ...row }: EnqueuedRow): Enqueued {
  if (is_processed) return { kind: 'already_processed', activityId: row.activity_id };
  return { kind: is_new ? 'queued' : 'joined', job: jobOf(row) };
}

function jobOf(row: Job): Job {
  const { job_id, activity_id, request_kind, force_update, status, attempt_count, max_attempts } = row;
  const { last_error, waits_for } = row;
  const identity = { job_id, activity_id, request_kind, force_update };
  return { ...identity, status, attempt_count, max_attempts, last_error, waits_for };
}
