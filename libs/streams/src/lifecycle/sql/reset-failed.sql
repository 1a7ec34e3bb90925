-- Puts at most $4 failed fetches back to `pending`: those with the reason $1 and of the athlete $2, or any where null, attempted up to $3.
-- A row that another transaction has locked is left out, so that the statement waits for nobody.
with chosen as materialized (
  select id
  from activity
  where stream_fetch_status = 'failed'
    and ($1::text is null or stream_fetch_error = $1)
    and ($2::uuid is null or athlete_id = $2)
    and stream_fetch_attempted_at <= $3
  limit $4
  for no key update skip locked
)
update activity
set
  stream_fetch_status = 'pending',
  stream_fetch_error = null,
  stream_fetch_retry_count = 0,
  stream_fetch_empty_count = 0,
  stream_fetch_deferred_until = null,
  stream_fetch_fence = stream_fetch_fence + 1
from chosen
where activity.id = chosen.id
returning activity.athlete_id
