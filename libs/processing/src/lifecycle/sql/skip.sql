-- Ends a run whose activity has been processed already. A job that was forced since the run began is not skipped.
with job as (
  update jobs
  set
    status = 'succeeded',
    finished_at_utc = now(),
    lease_owner = null,
    lease_expires_at_utc = null,
    last_error = null,
    last_result_json = '{"skipped": "already_processed"}',
    updated_at_utc = now()
  where athlete_id = $1
    and job_id = $2
    and run_id = $3
    and lease_owner = $4
    and status = 'running'
    and not force_update
  returning athlete_id, run_id, activity_id
),
run as (
  update runs
  set
    status = 'succeeded',
    finished_at_utc = now(),
    result_json = '{"skipped": "already_processed"}',
    updated_at_utc = now()
  from job
  where runs.athlete_id = job.athlete_id
    and runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = 'succeeded',
    last_result_status = 'succeeded',
    last_error = null,
    updated_at_utc = now()
  from job
  where activity_state.athlete_id = job.athlete_id
    and activity_state.activity_id = job.activity_id
)
select run_id
from job
