-- One unfinished job per activity: who asks again joins it, and a forced wish makes it a forced one. The locks are taken in the
-- order of the ids, so that two who ask for the same activities do not wait for each other.
-- $1 activities, $2 their athlete, $3 kind, $4 by whom, $5 force, $6 priority, $7 attempts at most
with asked as (
  select
    activity.id as activity_id,
    not $5::boolean
      and exists (select 1 from processed_activities where processed_activities.activity_id = activity.id) as is_processed
  from activity
  where activity.id = any ($1::uuid[])
    and activity.athlete_id = $2
),
job as (
  insert into jobs (activity_id, request_kind, requested_by, force_update, priority, max_attempts)
  select activity_id, $3, $4, $5, $6::integer, $7::integer
  from asked
  where not is_processed
  order by activity_id
  on conflict (activity_id) where finished_at_utc is null do update set
    force_update = jobs.force_update or excluded.force_update,
    priority = greatest(jobs.priority, excluded.priority),
    -- Who forces it does not wait for a retry.
    available_at_utc = case
      when excluded.force_update then least(jobs.available_at_utc, excluded.available_at_utc)
      else jobs.available_at_utc
    end,
    updated_at_utc = now()
  -- A row that was there has been locked by this statement.
  returning job_id, activity_id, request_kind, force_update, status, attempt_count, max_attempts, last_error, xmax = 0 as is_new
),
state as (
  insert into activity_state (activity_id, state, last_job_id)
  select activity_id, status, job_id
  from job
  where is_new
  order by activity_id
  on conflict (activity_id) do update set
    state = excluded.state,
    last_job_id = excluded.last_job_id,
    last_error = null,
    updated_at_utc = now()
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
  is_new,
  -- Heard when the transaction commits, once however many rows there are.
  case when status in ('queued', 'retry_wait') then pg_notify('runtime_jobs', '')::text end as rung
from job
union all
select activity_id, true, null, null, null, null, null, null, null, null, null
from asked
where is_processed
