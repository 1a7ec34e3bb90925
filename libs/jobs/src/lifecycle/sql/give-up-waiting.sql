-- Somebody has lowered their max_attempts while they waited.
with waiting as (
  select job_id
  from jobs
  where status = 'retry_wait'
    and attempt_count >= max_attempts
  limit $1
  for update skip locked
),
job as (
  update jobs
  set
    status = 'failed_permanent',
    finished_at_utc = now(),
    updated_at_utc = now()
  from waiting
  where jobs.job_id = waiting.job_id
  returning jobs.activity_id
)
update activity_state
set
  state = 'failed_permanent',
  last_result_status = 'failed_permanent',
  updated_at_utc = now()
from job
where activity_state.activity_id = job.activity_id
returning activity_state.activity_id
