select id, turn::int as turn
from import_jobs
where (status in ('queued', 'rate_limited') and (retry_after is null or retry_after <= clock_timestamp()))
  or (status = 'started' and (leased_until is null or leased_until <= clock_timestamp()))
order by updated_at
limit $1
