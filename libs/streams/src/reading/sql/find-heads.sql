-- Heads of the requested activities, without activities of another athlete. Stored streams are shown until new streams
-- replace them, also if the new fetch fails.
select
  requested.place::integer,
  activity.external_activity_id,
  activity.provider as source,
  activity.stream_fetch_status as fetch_status,
  case when activity_stream.activity_id is null then activity.stream_fetch_status else 'success' end as status,
  activity.stream_fetch_error as error,
  nullif(
    stream_fetch_due_at(
      stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $3, $4
    ),
    '-infinity'
  ) as retry_at,
  activity_stream.etag as version
from unnest($1::uuid[], $2::uuid[]) with ordinality as requested (activity_id, athlete_id, place)
join activity
  on activity.id = requested.activity_id
  and activity.athlete_id = requested.athlete_id
left join activity_stream
  on activity_stream.athlete_id = requested.athlete_id
  and activity_stream.activity_id = activity.id
