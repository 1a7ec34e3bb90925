import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Jobs } from '#processing';
import { type Database } from '#platform';

const AT_ONCE = 1_000;
const DONE = 5_000;

export interface Sample {
  readonly athleteId: string;
  readonly activityIds: readonly string[];
}

export async function newSample(admin: pg.Client, count: number): Promise<Sample> {
  const athleteId = randomUUID();
  await admin.query('insert into athlete (id, issuer, subject) values ($1, $2, $3)', [
    athleteId,
    'bench',
    athleteId,
  ]);
  const { rows } = await admin.query<{ id: string }>(
    `insert into activity (
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at
     )
     select 'strava', $1, n::text, 'Run', 'Run', now() - n * interval '1 minute', 10000, 3600, 3600, 100, false, false, 0, now()
     from generate_series(1, $2::int) n
     returning id`,
    [athleteId, count],
  );
  return { athleteId, activityIds: rows.map(({ id }) => id) };
}

/** Enqueues with `force`, so that every round can use the same activities. */
export async function enqueueAll(database: Database, { athleteId, activityIds }: Sample): Promise<void> {
  const jobs = new Jobs(database);
  const request = { athleteId, kind: 'auto_poll', requestedBy: 'bench', force: true } as const;
  for (let from = 0; from < activityIds.length; from += AT_ONCE)
    await jobs.enqueue({ ...request, activityIds: activityIds.slice(from, from + AT_ONCE) });
}

/**
 * Empties the queue, then adds finished jobs and statistics, as in a queue that has been in use. With the statistics of empty
 * tables Postgres would read a whole table for each row until its next analyze.
 */
export async function clear(admin: pg.Client): Promise<void> {
  await admin.query('truncate jobs, runs, activity_state, processed_activities, write_back');
  const done = await newSample(admin, DONE);
  await finishedJobs(admin, done.activityIds);
  await admin.query('vacuum analyze');
}

export async function finishedJobs(admin: pg.Client, activityIds: readonly string[]): Promise<void> {
  await admin.query(
    `with job as (
       insert into jobs (
         athlete_id, activity_id, request_kind, requested_by, max_attempts, attempt_count, status, run_id, started_at_utc,
         finished_at_utc, requested_at_utc, last_result_json
       )
       select
         athlete_id, id, 'auto_poll', 'bench', 3, 1, 'succeeded', gen_random_uuid(), now(), now(), now() - interval '1 day',
         '{"segments": [1, 2, 3]}'
       from activity
       where id = any ($1::uuid[])
       returning athlete_id, job_id, run_id, activity_id
     ),
     run as (
       insert into runs (athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner, status, finished_at_utc)
       select athlete_id, run_id, job_id, activity_id, 1, 'bench', 'succeeded', now()
       from job
     ),
     state as (
       insert into activity_state (athlete_id, activity_id, state, last_job_id, last_run_id)
       select athlete_id, activity_id, 'succeeded', job_id, run_id
       from job
       returning athlete_id, activity_id, last_run_id
     )
     insert into processed_activities (athlete_id, activity_id, run_id)
     select athlete_id, activity_id, last_run_id
     from state`,
    [activityIds],
  );
}
