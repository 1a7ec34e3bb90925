-- Connected athletes of whom something could be fetched now.
select connection.athlete_id
from connection
where connection.provider = 'strava'
  and connection.status = 'active'
  and exists (
    select 1
    from activity
    where activity.athlete_id = connection.athlete_id
      and activity.provider = 'strava'
      and external_activity_id is not null
      and stream_fetch_status in ('pending', 'failed', 'deferred')
      and stream_fetch_due_at(
    stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $1, $2
  ) <= now()
  )
