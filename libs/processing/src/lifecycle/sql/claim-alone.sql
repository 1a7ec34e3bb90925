-- Claims one job that has lost a worker; the caller runs no other job beside it.
with next as (
  select athlete_id, job_id
  from jobs
  where status in ('queued', 'retry_wait')
    and available_at_utc <= now()
    and attempt_count < max_attempts
    and lost_workers > 0
  order by priority desc, requested_at_utc
  limit 1
  for update skip locked
)
update jobs
set
  status = 'claimed',
  attempt_count = attempt_count + 1,
  run_id = gen_random_uuid(),
  lease_owner = $1,
  lease_expires_at_utc = now() + $2::float8 * interval '1 millisecond',
  updated_at_utc = now()
from next
where jobs.athlete_id = next.athlete_id
  and jobs.job_id = next.job_id
returning jobs.athlete_id, jobs.job_id, jobs.run_id, jobs.activity_id
