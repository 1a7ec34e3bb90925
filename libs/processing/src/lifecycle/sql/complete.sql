-- Ends runs with one statement: writes the job, its run, the activity's state, the row that marks the activity as processed, and its
-- change. A run whose claim is no longer valid writes nothing. A retry without attempts left fails for good. A run that waits for an input
-- uses no attempt.
with ended as (
  select *
  from unnest(
    $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::float8[], $8::jsonb[], $9::text[], $10::text[],
    $11::text[], $12::text[]
  ) as ended (athlete_id, job_id, run_id, outcome, error, retry_after_ms, result, profile_id, title, description_hash, waits_for)
),
job as (
  update jobs
  set
    status = case
      when ended.outcome = 'retry_wait' and ended.waits_for is null and jobs.attempt_count >= jobs.max_attempts
      then 'failed_permanent'
      else ended.outcome
    end,
    attempt_count = jobs.attempt_count - case when ended.waits_for is null then 0 else 1 end,
    waits_for = ended.waits_for,
    available_at_utc = now() + coalesce(ended.retry_after_ms, 0) * interval '1 millisecond',
    finished_at_utc = case
      when ended.outcome = 'retry_wait' and (ended.waits_for is not null or jobs.attempt_count < jobs.max_attempts) then null
      else now()
    end,
    lease_owner = null,
    lease_expires_at_utc = null,
    last_error = ended.error,
    last_result_json = ended.result,
    updated_at_utc = now()
  from ended
  where jobs.athlete_id = ended.athlete_id
    and jobs.job_id = ended.job_id
    and jobs.run_id = ended.run_id
    and jobs.lease_owner = $1
    and jobs.status = 'running'
  returning
    jobs.athlete_id, jobs.job_id, jobs.run_id, jobs.activity_id, jobs.status, ended.error, ended.result, ended.profile_id,
    ended.title, ended.description_hash
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
  where runs.athlete_id = job.athlete_id
    and runs.run_id = job.run_id
),
state as (
  update activity_state
  set
    state = job.status,
    last_result_status = job.status,
    last_error = job.error,
    -- A failed run keeps the earlier result.
    last_profile_id = case when job.status = 'succeeded' then job.profile_id else last_profile_id end,
    last_title = case when job.status = 'succeeded' then job.title else last_title end,
    last_description_hash = case when job.status = 'succeeded' then job.description_hash else last_description_hash end,
    updated_at_utc = now()
  from job
  where activity_state.athlete_id = job.athlete_id
    and activity_state.activity_id = job.activity_id
),
gate as (
  insert into processed_activities (athlete_id, activity_id, run_id, input_revision)
  select job.athlete_id, job.activity_id, job.run_id, runs.input_revision
  from job
  join runs using (athlete_id, run_id)
  where job.status = 'succeeded'
  on conflict (athlete_id, activity_id) do update set
    run_id = excluded.run_id,
    input_revision = excluded.input_revision,
    processed_at_utc = now()
),
-- Waits for the open writers of these activities, so that revisions of an activity have the order of their commits. Locks in the order in
-- which imports write: another order could deadlock.
locked as (
  select id, athlete_id
  from activity
  where (athlete_id, id) in (select job.athlete_id, job.activity_id from job where job.status = 'succeeded')
  order by athlete_id, provider, external_activity_id
  for share
),
announced as (
  insert into change_outbox (type, athlete_id, subject_id)
  select 'activity.processed', athlete_id, id
  from locked
)
select athlete_id, run_id, status
from job
