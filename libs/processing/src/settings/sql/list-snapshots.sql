-- Sorted by the table's column: `snapshot_id` alone would mean the selected float8, which has no index.
select
  snapshot_id::float8 as snapshot_id,
  source,
  payload_json as payload,
  created_at_utc as created_at
from config_snapshots
where snapshot_id < coalesce($1::bigint, 9223372036854775807)
order by config_snapshots.snapshot_id desc
limit $2
