-- The newest snapshot of each source is kept: it says which settings are in force.
delete from config_snapshots
where snapshot_id = any(array(
  select snapshot_id
  from config_snapshots
  where created_at_utc < now() - $1::float8 * interval '1 millisecond'
    and snapshot_id < (
      select max(newest.snapshot_id)
      from config_snapshots newest
      where newest.source = config_snapshots.source
    )
  order by created_at_utc
  limit $2
))
