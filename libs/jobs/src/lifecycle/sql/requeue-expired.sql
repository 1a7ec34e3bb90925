-- Whoever had them is dead, or so slow that it must not matter any more: the next claim is another run.
with expired as (
  select job_id
  from jobs
  where lease_expires_at_utc < now()
  order by lease_expires_at_utc
  limit $1
  for update skip locked
),
job as (
  update jobs
  set
    status = case when attempt_count >= max_attempts then 'failed_permanent' else 'queued' end,
    finished_at_utc = case when attempt_count >= max_attempts then now() end,
    available_at_utc = now(),
    lease_owner = null,
    lease_expires_at_utc = null,
    last_error = 'lease_expired',
    updated_at_utc = now()
  from expired
  where jobs.job_id = expired.job_id
  returning jobs.job_id, jobs.run_id, jobs.activity_id, jobs.status, jobs.attempt_count
),
run as (
  update runs
  set
    status = 'failed_permanent',
    finished_at_utc = now(),
    error = 'lease_expired',
    updated_at_utc = now()
  from job
  where runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = job.status,
    last_result_status = 'failed_permanent',
    last_error = 'lease_expired',
    updated_at_utc = now()
  from job
  where activity_state.activity_id = job.activity_id
)
select
  job_id,
  activity_id,
  status,
  attempt_count,
  case when status = 'queued' then pg_notify('runtime_jobs', '')::text end as rung
from job
