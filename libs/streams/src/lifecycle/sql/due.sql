-- The next activities of an athlete's backfill at a vendor ($5), newest first: athletes look at new activities first.
select id, provider, external_activity_id
from activity
where athlete_id = $1
  and provider = $5
  and external_activity_id is not null
  and stream_fetch_status in ('pending', 'failed', 'deferred')
  and stream_fetch_due_at(
    stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $2, $3
  ) <= now()
order by start_time desc
limit $4
