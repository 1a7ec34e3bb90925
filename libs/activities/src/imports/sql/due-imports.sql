select id, turn::int as turn
from import_jobs job
where status in ('queued', 'started', 'rate_limited')
  and (
    (status in ('queued', 'rate_limited') and (retry_after is null or retry_after <= clock_timestamp()))
    or (status = 'started' and (leased_until is null or leased_until <= clock_timestamp()))
  )
  -- The other import of an athlete waits for the one that runs.
  and not exists (
    select 1
    from import_jobs other
    where other.athlete_id = job.athlete_id
      and other.id <> job.id
      and other.status = 'started'
  )
order by updated_at
limit $1
