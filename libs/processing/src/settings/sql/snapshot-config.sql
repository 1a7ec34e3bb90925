insert into config_snapshots (source, payload_json)
select $1, $2::jsonb
where not exists (
  select 1
  from (
    select payload_json
    from config_snapshots
    where source = $1
    order by snapshot_id desc
    limit 1
  ) latest
  where latest.payload_json = $2::jsonb
)
returning snapshot_id
