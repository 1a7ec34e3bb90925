import { Inject, Injectable } from '@nestjs/common';
import {
  AppError,
  Database,
  loadSql,
  NotFound,
  originNow,
  type Sql,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { type Enqueued, type JobWithRuns } from './job.js';
import { Jobs } from './jobs.js';

const findLatest = loadSql(import.meta.url, './sql/find-latest.sql');
const takeForcedRun = loadSql(import.meta.url, './sql/take-forced-run.sql');

export const FORCED_RUNS_AN_HOUR = 120;
const HOUR_MS = 3_600_000;

/** The athlete has used up the forced runs of this hour. */
export class TooManyForcedRuns extends AppError {
  override readonly code = 'PROCESSING_LIMIT';
  override readonly kind = 'throttled';
  constructor(
    most: number,
    override readonly retryAfterSeconds: number,
  ) {
    super(`At most ${most} requested runs per athlete and hour: wait for Retry-After`);
  }
}

/**
 * Requests by a person. A processed activity is processed again, and an unfinished job becomes a forced job. Requests that cause a
 * run are limited to 120 per athlete and hour. Each of these requests is counted in the transaction that enqueues its job. So all
 * replicas share one limit, and a refused request leaves no row.
 */
@Injectable()
export class ManualRequests {
  constructor(
    private readonly jobs: Jobs,
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** The id of the HTTP request is stored with the job, so that the log lines of its runs have it, too. */
  activity(athleteId: string, activityId: string, requestId?: string): Promise<JobWithRuns> {
    return this.request(athleteId, activityId, 'manual_activity', requestId);
  }

  async latest(athleteId: string, requestId?: string): Promise<JobWithRuns> {
    const { rows } = await this.database.query<{ id: string }>(findLatest, [athleteId]);
    if (!rows[0]) throw new NotFound('There is no activity yet');
    return this.request(athleteId, rows[0].id, 'manual_latest', requestId);
  }

  private async request(
    athleteId: string,
    activityId: string,
    kind: 'manual_activity' | 'manual_latest',
    requestId: string | undefined,
  ): Promise<JobWithRuns> {
    const origin = originNow(requestId);
    const request = {
      athleteId,
      activityIds: [activityId],
      kind,
      requestedBy: 'manual',
      force: true,
      origin,
    };
    const jobId = await this.database.transaction(async (sql) => {
      const [enqueued] = await this.jobs.enqueue(request, sql);
      if (!enqueued) throw new NotFound('No such activity');
      if (enqueued.kind === 'already_processed') throw new Error('a forced request created no job');
      if (makesRun(enqueued)) await this.takeRun(sql, athleteId);
      return enqueued.job.job_id;
    });
    return this.jobs.find(athleteId, jobId);
  }

  private async takeRun(sql: Sql, athleteId: string): Promise<void> {
    const windowMs = this.scale.wait(HOUR_MS);
    const { count } = await sql.query(takeForcedRun, [athleteId, FORCED_RUNS_AN_HOUR, windowMs]);
    if (count > 0) return;
    const { rows } = await sql.query<{ left_ms: number }>(
      `select extract(epoch from began_at - clock_timestamp())::float8 * 1000 + $2 as left_ms
       from forced_runs
       where athlete_id = $1`,
      [athleteId, windowMs],
    );
    throw new TooManyForcedRuns(FORCED_RUNS_AN_HOUR, Math.max(1, Math.ceil((rows[0]?.left_ms ?? 0) / 1_000)));
  }
}

/** True for a new job and for a job in `retry_wait`. The request makes such a job due, so the request counts against the limit. */
function makesRun(enqueued: Enqueued & { readonly kind: 'queued' | 'joined' }): boolean {
  return enqueued.kind === 'queued' || enqueued.job.status === 'retry_wait';
}
