with claimed as (
  select athlete_id, job_id, run_id
  from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as claimed (athlete_id, job_id, run_id)
),
begun as (
  update jobs
  set
    status = 'running',
    started_at_utc = now(),
    updated_at_utc = now()
  from claimed, activity
  where jobs.athlete_id = claimed.athlete_id
    and jobs.job_id = claimed.job_id
    and jobs.run_id = claimed.run_id
    and jobs.lease_owner = $4
    and jobs.status = 'claimed'
    and activity.athlete_id = claimed.athlete_id
    and activity.id = jobs.activity_id
  returning
    jobs.athlete_id, jobs.job_id, jobs.run_id, jobs.activity_id, jobs.request_kind, jobs.attempt_count,
    jobs.force_update, jobs.request_id, jobs.traceparent, activity.input_revision
),
run as (
  insert into runs (athlete_id, run_id, job_id, activity_id, attempt_number, worker_owner, input_revision)
  select athlete_id, run_id, job_id, activity_id, attempt_count, $4, input_revision
  from begun
  -- An attempt that ended by waiting was not counted: this is the same attempt again, and its number already has a row.
  on conflict (athlete_id, job_id, attempt_number) do update set
    run_id = excluded.run_id,
    worker_owner = excluded.worker_owner,
    input_revision = excluded.input_revision,
    status = 'running',
    started_at_utc = now(),
    finished_at_utc = null,
    error = null,
    updated_at_utc = now()
),
state as (
  update activity_state
  set
    state = 'running',
    last_job_id = begun.job_id,
    last_run_id = begun.run_id,
    updated_at_utc = now()
  from begun
  where activity_state.athlete_id = begun.athlete_id
    and activity_state.activity_id = begun.activity_id
)
select
  athlete_id,
  job_id,
  run_id,
  activity_id,
  request_kind,
  attempt_count,
  force_update,
  request_id,
  traceparent,
  exists (
    select 1
    from processed_activities
    where processed_activities.athlete_id = begun.athlete_id
      and processed_activities.activity_id = begun.activity_id
      and processed_activities.input_revision >= begun.input_revision
  ) as is_processed,
  -- Asynchronous commit, as in claim.sql.
  (select set_config('synchronous_commit', 'off', true)) as durability
from begun
