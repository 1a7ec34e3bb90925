with held as (
  select athlete_id, job_id, run_id
  from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as held (athlete_id, job_id, run_id)
)
update jobs
set lease_expires_at_utc = now() + $5::float8 * interval '1 millisecond'
from held
where jobs.athlete_id = held.athlete_id
  and jobs.job_id = held.job_id
  and jobs.run_id = held.run_id
  and jobs.lease_owner = $4
  and jobs.status in ('claimed', 'running')
-- Asynchronous commit, as in claim.sql.
returning jobs.run_id, (select set_config('synchronous_commit', 'off', true)) as durability
