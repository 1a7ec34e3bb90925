-- What an import is about: a full one about everything in its range, an incremental one about what was missing when it
-- began.
select
  count(*)::int as total,
  count(*) filter (where detail_status = 'stored')::int as stored,
  count(*) filter (where detail_status = 'set_aside')::int as set_aside,
  extract(epoch from least(
    min(detail_retry_at) filter (where detail_status = 'pending'),
    min(photos_retry_at) filter (where photos_status = 'pending')
  ) - clock_timestamp())::float8 * 1000 as retry_in_ms
from activity
where athlete_id = $1
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and ($3::timestamptz is null or detail_status <> 'stored' or detail_stored_at >= $3)
