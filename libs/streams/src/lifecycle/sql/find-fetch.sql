-- The fetch of one activity, with all that decides when it is due. $1: the activity; $2, $3: as stream_fetch_due_at; $4: most ms of an
-- attempt.
select
  activity.id as activity_id, activity.athlete_id, activity.provider, activity.external_activity_id, activity.name, activity.sport_type,
  activity.start_time, activity.manual,
  (
    select status
    from connection
    where connection.athlete_id = activity.athlete_id and connection.provider = activity.provider
  ) as connection_status,
  stream_fetch_status as status, stream_fetch_error as error, stream_fetch_retry_count as retry_count,
  stream_fetch_empty_count as empty_count, stream_fetch_attempted_at as attempted_at,
  stream_fetch_deferred_until as deferred_until,
  case
    when stream_fetch_status = 'fetching' then stream_fetch_attempted_at + $4::float8 * interval '1 millisecond'
  end as given_up_at,
  nullif(due.at, '-infinity') as next_attempt_at,
  coalesce(due.at <= now(), false) as is_due,
  activity_stream.point_count as stored_points, activity_stream.channels_available as stored_channels,
  activity_stream.fetched_at as stored_at
from activity
left join activity_stream
  on activity_stream.athlete_id = activity.athlete_id
  and activity_stream.activity_id = activity.id
cross join lateral (
  select stream_fetch_due_at(
    stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $2, $3
  ) as at
) as due
where activity.id = $1
