-- How many automatic wishes wait, as far as it matters.
select count(*)::integer as waiting
from (
  select 1
  from jobs
  where status in ('queued', 'retry_wait')
    and priority <= 0
  limit $1
) waiting
