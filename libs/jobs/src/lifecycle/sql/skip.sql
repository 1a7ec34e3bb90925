-- Nothing to do: the activity has been processed and nobody forces it. Who forced it since the run began is not passed over.
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
  where job_id = $1
    and run_id = $2
    and lease_owner = $3
    and status = 'running'
    and not force_update
  returning run_id, activity_id
),
run as (
  update runs
  set
    status = 'succeeded',
    finished_at_utc = now(),
    result_json = '{"skipped": "already_processed"}',
    updated_at_utc = now()
  from job
  where runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = 'succeeded',
    last_result_status = 'succeeded',
    last_error = null,
    updated_at_utc = now()
  from job
  where activity_state.activity_id = job.activity_id
)
select run_id
from job
