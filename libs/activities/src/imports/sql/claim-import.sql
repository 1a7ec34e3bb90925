-- Claims a due import. Each claim raises its fence. At most one import of an athlete and vendor runs at a time.
update import_jobs job
set
  status = 'started',
  fence = job.fence + 1,
  leased_until = lease_end($2),
  started_at = coalesce(job.started_at, now()),
  retry_after = null,
  updated_at = now()
from athlete
where job.id = $1
  and job.fence = $3
  and athlete.id = job.athlete_id
  and (
    (job.status in ('queued', 'rate_limited') and (job.retry_after is null or job.retry_after <= clock_timestamp()))
    or (job.status = 'started' and is_free(job.leased_until))
  )
  and not exists (
    select 1
    from import_jobs other
    where other.athlete_id = job.athlete_id
      and other.provider = job.provider
      and other.id <> job.id
      and other.status = 'started'
  )
returning
  job.id, job.athlete_id, job.provider, job.type, job.since, job.sync_cursor, job.failures, job.accidents,
  job.fence, job.created_at, job.started_at, athlete.generation::int as generation,
  coalesce((
    select connection.scopes
    from connection
    where connection.athlete_id = job.athlete_id
      and connection.provider = job.provider
  ), '{}') as scopes
