-- Lists the imports that a worker may claim now. The import that has waited longest is first.
select id, fence
from import_jobs job
where status in ('queued', 'started', 'rate_limited')
  and (
    (status in ('queued', 'rate_limited') and (retry_after is null or retry_after <= clock_timestamp()))
    or (status = 'started' and is_free(leased_until))
  )
  -- An athlete's second import from a vendor waits for the running import.
  and not exists (
    select 1
    from import_jobs other
    where other.athlete_id = job.athlete_id
      and other.provider = job.provider
      and other.id <> job.id
      and other.status = 'started'
  )
order by updated_at
limit $1
