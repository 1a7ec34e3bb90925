import { Injectable } from '@nestjs/common';
import { Database, InvalidInput } from '#platform';
import { type JobStatus, type RequestKind } from './job.js';

/** A job as operators see it. */
export interface ListedJob {
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

export interface JobPage {
  readonly items: readonly ListedJob[];
  readonly next_cursor: string | null;
}

export interface WantedJobs {
  readonly status?: JobStatus;
  readonly cursor?: string;
  readonly limit: number;
}

type Row = ListedJob & { readonly place: string };

/** The jobs of all athletes, the newest wishes first. */
@Injectable()
export class JobList {
  constructor(private readonly database: Database) {}

  async page({ status, cursor, limit }: WantedJobs): Promise<JobPage> {
    const [requestedAt = null, jobId = null] = cursor === undefined ? [] : placeOf(cursor);
    const { rows } = await this.database.query<Row>(statementFor(status), [requestedAt, jobId, limit + 1]);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(({ place: _place, ...job }) => job),
      next_cursor: rows.length > limit && last ? cursorAt(last) : null,
    };
  }
}

// The state stands in the text, and what follows from it: by a parameter Postgres would not know that a partial index will do.
function statementFor(status: JobStatus | undefined): string {
  return `
    select
      job_id, activity.athlete_id, activity_id, request_kind, requested_by, force_update, priority, status, attempt_count,
      max_attempts, requested_at_utc as requested_at, available_at_utc as available_at, lease_owner,
      lease_expires_at_utc as lease_expires_at, started_at_utc as started_at, finished_at_utc as finished_at, run_id,
      last_error,
      to_char(requested_at_utc at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
    from jobs
    join activity on activity.id = activity_id
    where ($1::timestamptz is null or (requested_at_utc, job_id) < ($1, $2::uuid))
      ${status === undefined ? '' : `and ${inStatus(status)}`}
    order by requested_at_utc desc, job_id desc
    limit $3`;
}

function inStatus(status: JobStatus): string {
  const isFinished = status === 'succeeded' || status === 'failed_permanent' || status === 'cancelled';
  return `status = '${status}' and finished_at_utc is ${isFinished ? 'not null' : 'null'}`;
}

// To the microsecond, which a Date does not have.
const PLACE = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function cursorAt({ place, job_id }: Row): string {
  return Buffer.from(`${place} ${job_id}`).toString('base64url');
}

function placeOf(cursor: string): [requestedAt: string, jobId: string] {
  const [, requestedAt, jobId] = PLACE.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!requestedAt || !jobId || !isMoment(requestedAt))
    throw new InvalidInput(['cursor: must be a next_cursor of an earlier answer']);
  return [requestedAt, jobId];
}

/** The thirtieth of February is not. */
function isMoment(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 19) === text.slice(0, 19);
}
