-- The body as base64, for the reason given in find-body.sql. A stored body stays valid while the streams are fetched again.
select
  activity.stream_fetch_status as status,
  activity.stream_fetch_error as error,
  activity.stream_fetch_status = 'fetching'
    or stream_fetch_due_at(
      stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $2, $3
    ) is not null as is_coming,
  encode(activity_stream.body, 'base64') as body
from activity
left join activity_stream
  on activity_stream.athlete_id = activity.athlete_id
  and activity_stream.activity_id = activity.id
where activity.id = $1
