-- $3: versions that need not be sent: the reader has them, or we do.
select
  activity.external_activity_id,
  activity.provider as source,
  activity.stream_fetch_status as status,
  activity.stream_fetch_error as error,
  nullif(
    stream_fetch_due_at(
      stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $4, $5
    ),
    '-infinity'
  ) as retry_at,
  activity_stream.etag as version,
  case when activity_stream.etag = any ($3::text[]) then null else encode(activity_stream.body, 'base64') end as body
from activity
left join activity_stream
  on activity_stream.activity_id = activity.id
  and activity.stream_fetch_status = 'success'
where activity.id = $1
  and activity.athlete_id = $2
