-- An activity has at most one unfinished job. A second request joins this job; a forced request also makes this job forced. The locks
-- are taken in the order of the ids, so that two requests for the same activities do not deadlock.
-- $1 activities, $2 their athlete, $3 kind, $4 requested by, $5 force, $6 priority, $7 most attempts, $8 and $9 the HTTP request and its span
with asked as (
  select
    activity.id as activity_id,
    not $5::boolean
      and exists (
        select 1
        from processed_activities
        where processed_activities.athlete_id = $2
          and processed_activities.activity_id = activity.id
          and processed_activities.input_revision >= activity.input_revision
      ) as is_processed
  from activity
  where activity.id = any ($1::uuid[])
    and activity.athlete_id = $2
),
job as (
  insert into jobs (
    athlete_id, activity_id, request_kind, requested_by, force_update, priority, max_attempts, request_id, traceparent
  )
  select $2, activity_id, $3, $4, $5, $6::integer, $7::integer, $8::text, $9::text
  from asked
  where not is_processed
  order by activity_id
  on conflict (athlete_id, activity_id) where finished_at_utc is null do update set
    force_update = jobs.force_update or excluded.force_update,
    priority = greatest(jobs.priority, excluded.priority),
    request_id = coalesce(excluded.request_id, jobs.request_id),
    traceparent = coalesce(excluded.traceparent, jobs.traceparent),
    -- A forced job does not wait for its retry. A job that waits for an input is tried again: the input may be stored by now.
    waits_for = null,
    available_at_utc = case
      when excluded.force_update or jobs.waits_for is not null then least(jobs.available_at_utc, excluded.available_at_utc)
      else jobs.available_at_utc
    end,
    updated_at_utc = now()
  -- xmax is 0 for an inserted row. It is not 0 for an existing row, since this statement has locked the row.
  returning job_id, activity_id, request_kind, force_update, status, attempt_count, max_attempts, last_error, waits_for,
    xmax = 0 as is_new
),
state as (
  insert into activity_state (athlete_id, activity_id, state, last_job_id)
  select $2, activity_id, status, job_id
  from job
  where is_new
  order by activity_id
  on conflict (athlete_id, activity_id) do update set
    state = excluded.state,
    last_job_id = excluded.last_job_id,
    last_error = null,
    updated_at_utc = now()
),
-- The job whose result is shown is not superseded.
superseded as (
  update jobs
  set superseded_at_utc = now()
  from job
  where is_new
    and jobs.athlete_id = $2
    and jobs.activity_id = job.activity_id
    and jobs.job_id <> job.job_id
    and jobs.finished_at_utc is not null
    and jobs.superseded_at_utc is null
    and not exists (
      select 1
      from processed_activities
      join runs using (athlete_id, run_id)
      where processed_activities.athlete_id = $2
        and processed_activities.activity_id = jobs.activity_id
        and runs.job_id = jobs.job_id
    )
)
select
  activity_id,
  false as is_processed,
  job_id,
  request_kind,
  force_update,
  status,
  attempt_count,
  max_attempts,
  last_error,
  waits_for,
  is_new,
  -- Postgres sends the notification when the transaction commits, once for any number of rows.
  case when status in ('queued', 'retry_wait') then pg_notify('runtime_jobs', '')::text end as rung
from job
union all
select activity_id, true, null, null, null, null, null, null, null, null, null, null
from asked
where is_processed
