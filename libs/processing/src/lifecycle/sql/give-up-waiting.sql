-- Fails jobs whose max_attempts was lowered while they waited. Uses the index of unfinished jobs, as count-waiting.sql does.
with waiting as (
  select athlete_id, job_id
  from jobs
  where finished_at_utc is null
    and status = 'retry_wait'
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
  where jobs.athlete_id = waiting.athlete_id
    and jobs.job_id = waiting.job_id
  returning jobs.athlete_id, jobs.activity_id
)
update activity_state
set
  state = 'failed_permanent',
  last_result_status = 'failed_permanent',
  updated_at_utc = now()
from job
where activity_state.athlete_id = job.athlete_id
  and activity_state.activity_id = job.activity_id
returning activity_state.activity_id
