-- In a CTE: as a subquery of the update, `limit … skip locked` may be run more than once and take more than the limit.
-- What became available before the last look that found no more is known to be gone. Left out by the index alone: while an old
-- transaction keeps dead rows from being cleaned up, each would otherwise be read to see that it is one.
-- Not waited for until it is on disk: a crash of the server that forgets it is a lease that ended, and the fence holds.
with next as (
  select job_id
  from jobs
  where status in ('queued', 'retry_wait')
    and available_at_utc <= now()
    and available_at_utc >= coalesce(now() - $4::float8 * interval '1 millisecond', '-infinity')
    and attempt_count < max_attempts
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
where jobs.job_id = next.job_id
returning jobs.job_id, jobs.run_id, jobs.activity_id, (select set_config('synchronous_commit', 'off', true)) as durability
