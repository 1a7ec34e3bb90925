-- State and data in one statement: a worker that has lost the activity stores nothing.
with ours as (
  update activity
  set
    stream_fetch_status = 'success',
    stream_fetch_error = null,
    stream_fetch_deferred_until = null
  where id = $1
    and stream_fetch_fence = $2
    and stream_fetch_status = 'fetching'
  returning id
)
insert into activity_stream (activity_id, stream_data, channels_available, point_count, source, fetched_at, body, etag)
select id, $3, $4, $5::integer, $6, $7::timestamptz, $8::bytea, $9
from ours
on conflict (activity_id) do update set
  stream_data = excluded.stream_data,
  channels_available = excluded.channels_available,
  point_count = excluded.point_count,
  source = excluded.source,
  fetched_at = excluded.fetched_at,
  body = excluded.body,
  etag = excluded.etag
returning activity_id
