-- How runs ended, all in one statement: the job, its run, what is known of the activity and the gate, or nothing of a run that
-- is over. A retry without attempts left is a failure for good.
with ended as (
  select *
  from unnest(
    $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::float8[], $7::jsonb[], $8::text[], $9::text[], $10::text[]
  ) as ended (job_id, run_id, outcome, error, retry_after_ms, result, profile_id, title, description_hash)
),
job as (
  update jobs
  set
    status = case
      when ended.outcome = 'retry_wait' and jobs.attempt_count >= jobs.max_attempts then 'failed_permanent'
      else ended.outcome
    end,
    available_at_utc = now() + coalesce(ended.retry_after_ms, 0) * interval '1 millisecond',
    finished_at_utc = case
      when ended.outcome = 'retry_wait' and jobs.attempt_count < jobs.max_attempts then null
      else now()
    end,
    lease_owner = null,
    lease_expires_at_utc = null,
    last_error = ended.error,
    last_result_json = ended.result,
    updated_at_utc = now()
  from ended
  where jobs.job_id = ended.job_id
    and jobs.run_id = ended.run_id
    and jobs.lease_owner = $1
    and jobs.status = 'running'
  returning
    jobs.job_id, jobs.run_id, jobs.activity_id, jobs.status, ended.error, ended.result, ended.profile_id, ended.title,
    ended.description_hash
),
run as (
  update runs
  set
    status = job.status,
    finished_at_utc = now(),
    error = job.error,
    result_json = job.result,
    updated_at_utc = now()
  from job
  where runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = job.status,
    last_result_status = job.status,
    last_error = job.error,
    -- What a failed run has to say about the activity is nothing: what was known stays.
    last_profile_id = case when job.status = 'succeeded' then job.profile_id else last_profile_id end,
    last_title = case when job.status = 'succeeded' then job.title else last_title end,
    last_description_hash = case when job.status = 'succeeded' then job.description_hash else last_description_hash end,
    updated_at_utc = now()
  from job
  where activity_state.activity_id = job.activity_id
),
gate as (
  insert into processed_activities (activity_id, run_id)
  select activity_id, run_id
  from job
  where status = 'succeeded'
  on conflict (activity_id) do update set
    run_id = excluded.run_id,
    processed_at_utc = now()
)
select run_id, status
from job
