-- A run under way hears of it when its lease is to be renewed; what it still writes is refused.
with job as (
  update jobs
  set
    status = 'cancelled',
    finished_at_utc = now(),
    lease_owner = null,
    lease_expires_at_utc = null,
    updated_at_utc = now()
  from activity
  where job_id = $1
    and activity.id = jobs.activity_id
    and activity.athlete_id = $2
    and status in ('queued', 'claimed', 'running', 'retry_wait')
  returning job_id, run_id, jobs.activity_id
),
run as (
  update runs
  set
    status = 'cancelled',
    finished_at_utc = now(),
    updated_at_utc = now()
  from job
  where runs.run_id = job.run_id
    and runs.status = 'running'
),
state as (
  update activity_state
  set
    state = 'cancelled',
    last_result_status = 'cancelled',
    updated_at_utc = now()
  from job
  where activity_state.activity_id = job.activity_id
)
select job_id
from job
