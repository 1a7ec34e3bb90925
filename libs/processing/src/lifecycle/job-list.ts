import { Injectable } from '@nestjs/common';
import { cursorAt, Database, keysetOf } from '#platform';
import { type JobStatus, type RequestKind } from './job.js';

/** A job as operators see it. */
interface ListedJob {
  readonly job_id: string;
  readonly athlete_id: string;
  readonly activity_id: string;
  readonly request_kind: RequestKind;
  readonly requested_by: string;
  readonly force_update: boolean;
  readonly priority: number;
  readonly status: JobStatus;
  readonly attempt_count: number;
  readonly max_attempts: number;
  readonly requested_at: Date;
  readonly available_at: Date;
  readonly lease_owner: string | null;
  readonly lease_expires_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly run_id: string | null;
  readonly last_error: string | null;
}

interface JobPage {
  readonly items: readonly ListedJob[];
  readonly next_cursor: string | null;
}

interface JobFilter {
  readonly status?: JobStatus;
  readonly activityId?: string;
  readonly athleteId?: string;
  readonly cursor?: string;
  readonly limit: number;
}

type ListedRow = ListedJob & { readonly place: string };

/** Lists jobs of all athletes for operators, newest request first. */
@Injectable()
export class JobList {
  constructor(private readonly database: Database) {}

  async page({ status, activityId, athleteId, cursor, limit }: JobFilter): Promise<JobPage> {
    const after = cursor === undefined ? undefined : keysetOf(cursor);
    const owners = [activityId, athleteId].filter((id) => id !== undefined);
    const { rows } = await this.database.query<ListedRow>(
      statementFor(status, { isOfActivity: activityId !== undefined, isOfAthlete: athleteId !== undefined }),
      [after?.place, after?.id, limit + 1, ...owners],
    );
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(({ place: _place, ...job }) => job),
      next_cursor: rows.length > limit && last ? cursorAt({ place: last.place, id: last.job_id }) : null,
    };
  }
}

interface Owners {
  readonly isOfActivity?: boolean;
  readonly isOfAthlete?: boolean;
}

// The status and its condition on `finished_at_utc` are literals: with a parameter the planner could not use a partial index.
export function statementFor(status: JobStatus | undefined, owners: Owners = {}): string {
  return `
    select
      job_id, athlete_id, activity_id, request_kind, requested_by, force_update, priority, status, attempt_count, max_attempts, requested_at_utc as requested_at,
      available_at_utc as available_at, lease_owner, lease_expires_at_utc as lease_expires_at, started_at_utc as started_at,
      finished_at_utc as finished_at, run_id, last_error,
      to_char(requested_at_utc at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
    from ${jobsOf(owners)}
    where (requested_at_utc, job_id) < (
      coalesce($1, 'infinity'::timestamptz), coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    )
      ${status === undefined ? '' : `and ${inStatus(status)}`}
    order by requested_at_utc desc, job_id desc
    limit $3`;
}

// By activity: `offset 0` makes Postgres look up the jobs of each activity. Otherwise it may read jobs from the newest on until it has found
// enough. For an athlete without recent jobs it would read all of them.
function jobsOf({ isOfActivity, isOfAthlete }: Owners): string {
  if (!isOfActivity && !isOfAthlete) return 'jobs';
  const conditions = [
    ...(isOfActivity ? ['id = $4'] : []),
    ...(isOfAthlete ? [`athlete_id = $${isOfActivity ? 5 : 4}`] : []),
  ].join(' and ');
  return `(
      select own.*
      from (select athlete_id, id from activity where ${conditions}) as activity
      cross join lateral (
        select *
        from jobs
        where jobs.athlete_id = activity.athlete_id and jobs.activity_id = activity.id
        offset 0
      ) as own
    ) as jobs`;
}

function inStatus(status: JobStatus): string {
  const isFinished = status === 'succeeded' || status === 'failed_permanent' || status === 'cancelled';
  return `status = '${status}' and finished_at_utc is ${isFinished ? 'not null' : 'null'}`;
}
