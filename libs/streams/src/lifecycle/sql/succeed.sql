-- Writes state and data in one statement, so a worker that lost its claim stores nothing. `input_revision` rises only if the
-- recording differs from the stored one: an equal recording needs no processing.
with ours as (
  update activity
  set
    stream_fetch_status = 'success',
    stream_fetch_error = null,
    stream_fetch_deferred_until = null,
    input_revision = input_revision + case
      when exists (
        select 1
        from activity_stream
        where activity_stream.athlete_id = activity.athlete_id
          and activity_id = $1
          and stream_data = $3::jsonb
      ) then 0
      else 1
    end
  where id = $1
    and stream_fetch_fence = $2
    and stream_fetch_status = 'fetching'
  returning athlete_id, id
)
insert into activity_stream (
  athlete_id, activity_id, stream_data, channels_available, point_count, source, fetched_at, body, etag
)
select athlete_id, id, $3, $4, $5::integer, $6, $7::timestamptz, $8::bytea, $9
from ours
on conflict (athlete_id, activity_id) do update set
  stream_data = excluded.stream_data,
  channels_available = excluded.channels_available,
  point_count = excluded.point_count,
  source = excluded.source,
  fetched_at = excluded.fetched_at,
  body = excluded.body,
  etag = excluded.etag
returning activity_id
