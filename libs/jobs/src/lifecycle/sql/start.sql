with claimed as (
  select job_id, run_id
  from unnest($1::uuid[], $2::uuid[]) as claimed (job_id, run_id)
),
begun as (
  update jobs
  set
    status = 'running',
    started_at_utc = now(),
    updated_at_utc = now()
  from claimed
  where jobs.job_id = claimed.job_id
    and jobs.run_id = claimed.run_id
    and jobs.lease_owner = $3
    and jobs.status = 'claimed'
  returning jobs.job_id, jobs.run_id, jobs.activity_id, jobs.request_kind, jobs.attempt_count, jobs.force_update
),
run as (
  insert into runs (run_id, job_id, activity_id, attempt_number, worker_owner)
  select run_id, job_id, activity_id, attempt_count, $3
  from begun
),
state as (
  update activity_state
  set
    state = 'running',
    last_job_id = begun.job_id,
    last_run_id = begun.run_id,
    updated_at_utc = now()
  from begun
  where activity_state.activity_id = begun.activity_id
)
select
  begun.*,
  exists (select 1 from processed_activities where processed_activities.activity_id = begun.activity_id) as is_processed,
  -- As with a claim.
  (select set_config('synchronous_commit', 'off', true)) as durability
from begun
