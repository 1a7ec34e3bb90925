-- Connections with streams that could be fetched now, at vendors with streams ($3). One index lookup for each connection: a join would
-- read all waiting activities.
select connection.athlete_id, connection.provider
from connection
where connection.provider = any ($3)
  and connection.status = 'active'
  and (
    select true
    from activity
    where activity.athlete_id = connection.athlete_id
      and activity.provider = connection.provider
      and external_activity_id is not null
      and stream_fetch_status in ('pending', 'failed', 'deferred')
      and stream_fetch_due_at(
        stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $1, $2
      ) <= now()
    limit 1
  )
