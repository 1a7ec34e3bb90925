with held as (
  select job_id, run_id
  from unnest($1::uuid[], $2::uuid[]) as held (job_id, run_id)
)
update jobs
set lease_expires_at_utc = now() + $4::float8 * interval '1 millisecond'
from held
where jobs.job_id = held.job_id
  and jobs.run_id = held.run_id
  and jobs.lease_owner = $3
  and jobs.status in ('claimed', 'running')
-- As with a claim.
returning jobs.run_id, (select set_config('synchronous_commit', 'off', true)) as durability
