-- Takes jobs with an expired lease back: their worker died or paused for too long, and the next claim is another run.
-- A job that had not begun uses no attempt. A job that had begun may have killed its worker, so it runs alone from now on. It fails
-- for good when its attempts are used and it has lost $2 workers (one beside other jobs, the rest alone).
with expired as (
  select
    athlete_id,
    job_id,
    status = 'running' as has_begun,
    status = 'running' and attempt_count >= max_attempts and lost_workers + 1 >= $2::integer as is_given_up
  from jobs
  where lease_expires_at_utc < now()
  order by lease_expires_at_utc
  limit $1
  for update skip locked
),
job as (
  update jobs
  set
    status = case when is_given_up then 'failed_permanent' else 'queued' end,
    finished_at_utc = case when is_given_up then now() end,
    available_at_utc = now(),
    attempt_count = attempt_count - (not has_begun)::integer,
    -- If the lost attempt was the last attempt, the job gets one more attempt, until it has lost $2 workers.
    max_attempts = case
      when has_begun and not is_given_up then greatest(max_attempts, attempt_count + 1)
      else max_attempts
    end,
    lost_workers = lost_workers + has_begun::integer,
    lease_owner = null,
    lease_expires_at_utc = null,
    last_error = case when has_begun then 'lease_expired' else last_error end,
    updated_at_utc = now()
  from expired
  where jobs.athlete_id = expired.athlete_id
    and jobs.job_id = expired.job_id
  returning jobs.athlete_id, jobs.job_id, jobs.run_id, jobs.activity_id, jobs.status, jobs.attempt_count, has_begun
),
run as (
  update runs
  set
    status = 'failed_permanent',
    finished_at_utc = now(),
    error = 'lease_expired',
    updated_at_utc = now()
  from job
  where runs.athlete_id = job.athlete_id
    and runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = job.status,
    last_result_status = 'failed_permanent',
    last_error = 'lease_expired',
    updated_at_utc = now()
  from job
  where activity_state.athlete_id = job.athlete_id
    and activity_state.activity_id = job.activity_id
    and has_begun
)
select
  job_id,
  activity_id,
  status,
  attempt_count,
  case when status = 'queued' then pg_notify('runtime_jobs', '')::text end as rung
from job
