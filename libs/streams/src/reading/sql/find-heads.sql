-- What there is to say of some activities, each asked for by an athlete. One that is not theirs is not in the answer.
select
  asked.place::integer,
  activity.external_activity_id,
  activity.provider as source,
  activity.stream_fetch_status as status,
  activity.stream_fetch_error as error,
  nullif(
    stream_fetch_due_at(
      stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $3, $4
    ),
    '-infinity'
  ) as retry_at,
  activity_stream.etag as version
from unnest($1::uuid[], $2::uuid[]) with ordinality as asked (activity_id, athlete_id, place)
join activity
  on activity.id = asked.activity_id
  and activity.athlete_id = asked.athlete_id
left join activity_stream
  on activity_stream.activity_id = activity.id
  and activity.stream_fetch_status = 'success'
