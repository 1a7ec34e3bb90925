-- Counts automatic jobs that wait for a worker, up to $1. Uses the index of unfinished jobs, since each index of claimable jobs
-- has only some of the waiting jobs.
select count(*)::integer as waiting
from (
  select 1
  from jobs
  where finished_at_utc is null
    and status in ('queued', 'retry_wait')
    and priority <= 0
  limit $1
) waiting
