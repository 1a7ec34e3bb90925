-- Counts the activities of an import. A full import ($3 is null) has all activities of its range. An incremental import has the
-- activities whose detail was missing when the import was created ($3).
select
  count(*)::int as total,
  count(*) filter (where detail_status = 'stored')::int as stored,
  extract(epoch from least(
    min(detail_retry_at) filter (where detail_status = 'pending'),
    min(photos_retry_at) filter (where photos_status = 'pending')
  ) - clock_timestamp())::float8 * 1000 as retry_in_ms
from activity
where athlete_id = $1
  and provider = $4
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and ($3::timestamptz is null or detail_status <> 'stored' or detail_stored_at >= $3)
