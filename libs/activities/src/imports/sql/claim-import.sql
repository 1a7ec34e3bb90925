-- One turn of a due import. Fenced by `turn`, which rises here; one running import per athlete.
update import_jobs job
set
  status = 'started',
  turn = job.turn + 1,
  leased_until = clock_timestamp() + $2 * interval '1 millisecond',
  started_at = coalesce(job.started_at, now()),
  retry_after = null,
  updated_at = now()
from athlete
where job.id = $1
  and job.turn = $3
  and athlete.id = job.athlete_id
  and (
    (job.status in ('queued', 'rate_limited') and (job.retry_after is null or job.retry_after <= clock_timestamp()))
    or (job.status = 'started' and (job.leased_until is null or job.leased_until <= clock_timestamp()))
  )
  and not exists (
    select 1
    from import_jobs other
    where other.athlete_id = job.athlete_id
      and other.id <> job.id
      and other.status = 'started'
  )
returning
  job.id, job.athlete_id, job.type, job.since, job.sync_cursor, job.failures, job.accidents,
  job.turn::int as turn, job.created_at, job.started_at, athlete.generation::int as generation
