select
  job_id,
  activity_id,
  request_kind,
  force_update,
  status,
  attempt_count,
  max_attempts,
  last_error,
  waits_for,
  coalesce(
    (
      select json_agg(
        json_build_object(
          'run_id', run_id,
          'attempt_number', attempt_number,
          'status', status,
          'started_at', to_char(started_at_utc at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'finished_at', to_char(finished_at_utc at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'error', error
        )
        order by attempt_number, started_at_utc
      )
      from runs
      where runs.athlete_id = jobs.athlete_id
        and runs.job_id = jobs.job_id
    ),
    '[]'
  ) as runs
from jobs
where athlete_id = $2
  and job_id = $1
