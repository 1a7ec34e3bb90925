-- `result` comes from the last run that had a result. A later failed run does not change `result`.
select
  activity.id as activity_id,
  activity_state.state,
  activity_state.last_job_id,
  activity_state.last_run_id,
  activity_state.last_profile_id,
  activity_state.last_title,
  activity_state.last_description_hash,
  activity_state.last_result_status,
  activity_state.last_error,
  activity_state.updated_at_utc as updated_at,
  jobs.waits_for,
  case when jobs.status = 'retry_wait' then jobs.available_at_utc end as next_attempt_at,
  runs.result_json as result
from activity
left join activity_state
  on activity_state.athlete_id = activity.athlete_id
  and activity_state.activity_id = activity.id
left join jobs
  on jobs.athlete_id = activity.athlete_id
  and jobs.job_id = activity_state.last_job_id
left join processed_activities
  on processed_activities.athlete_id = activity.athlete_id
  and processed_activities.activity_id = activity_state.activity_id
left join runs
  on runs.athlete_id = activity.athlete_id
  and runs.run_id = processed_activities.run_id
where activity.id = $1
  and activity.athlete_id = $2
