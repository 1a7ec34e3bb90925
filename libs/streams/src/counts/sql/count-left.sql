-- Calls that the connected athletes' streams still take, and when the last deferred one may be made.
select activity.athlete_id, count(*)::int as calls, max(stream_fetch_deferred_until) as not_before
from activity
join connection
  on connection.athlete_id = activity.athlete_id
  and connection.provider = 'strava'
  and connection.status = 'active'
where external_activity_id is not null
  and stream_fetch_status in ('pending', 'failed', 'deferred')
  and stream_fetch_due_at(
    stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $1, $2
  ) is not null
group by activity.athlete_id
