-- A run under way notices the cancellation at the next renewal of its lease; its later writes are rejected.
with job as (
  update jobs
  set
    status = 'cancelled',
    finished_at_utc = now(),
    lease_owner = null,
    lease_expires_at_utc = null,
    updated_at_utc = now()
  where athlete_id = $2
    and job_id = $1
    and status in ('queued', 'claimed', 'running', 'retry_wait')
  returning athlete_id, job_id, run_id, activity_id
),
run as (
  update runs
  set
    status = 'cancelled',
    finished_at_utc = now(),
    updated_at_utc = now()
  from job
  where runs.athlete_id = job.athlete_id
    and runs.run_id = job.run_id
    and runs.status = 'running'
),
state as (
  update activity_state
  set
    state = 'cancelled',
    last_result_status = 'cancelled',
    updated_at_utc = now()
  from job
  where activity_state.athlete_id = job.athlete_id
    and activity_state.activity_id = job.activity_id
)
select job_id
from job
