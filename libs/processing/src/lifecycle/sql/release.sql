-- Puts claimed jobs that have not begun back into the queue, without using an attempt.
with claimed as (
  select athlete_id, job_id, run_id
  from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as claimed (athlete_id, job_id, run_id)
)
update jobs
set
  status = 'queued',
  attempt_count = attempt_count - 1,
  available_at_utc = now(),
  lease_owner = null,
  lease_expires_at_utc = null,
  updated_at_utc = now()
from claimed
where jobs.athlete_id = claimed.athlete_id
  and jobs.job_id = claimed.job_id
  and jobs.run_id = claimed.run_id
  and jobs.lease_owner = $4
  and jobs.status = 'claimed'
returning jobs.run_id, pg_notify('runtime_jobs', '')::text as rung
