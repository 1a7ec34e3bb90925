-- Claims due jobs: highest priority first, then oldest.
-- - A CTE, since `limit … skip locked` in a subquery of the update may run more than once and take more than the limit.
-- - $4 leaves out, by the index alone, jobs that earlier claims have taken. Without $4, each dead index entry would be read while
--   an old transaction prevents vacuum.
-- - Asynchronous commit: a claim that a server crash loses is like an expired lease, and the fence rejects its writes.
with next as (
  select athlete_id, job_id
  from jobs
  where status in ('queued', 'retry_wait')
    and available_at_utc <= now()
    and available_at_utc >= coalesce(now() - $4::float8 * interval '1 millisecond', '-infinity')
    and attempt_count < max_attempts
    and lost_workers = 0
  order by priority desc, requested_at_utc
  limit $2
  for update skip locked
)
update jobs
set
  status = 'claimed',
  attempt_count = attempt_count + 1,
  run_id = gen_random_uuid(),
  lease_owner = $1,
  lease_expires_at_utc = now() + $3::float8 * interval '1 millisecond',
  updated_at_utc = now()
from next
where jobs.athlete_id = next.athlete_id
  and jobs.job_id = next.job_id
returning jobs.athlete_id, jobs.job_id, jobs.run_id, jobs.activity_id, (select set_config('synchronous_commit', 'off', true)) as durability
