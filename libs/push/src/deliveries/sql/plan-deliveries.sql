-- Plans the deliveries of the next $1 changes, and moves `planned_seq` past them. Erased changes are skipped. While another process plans,
-- this statement plans nothing.
with plan as (
  select planned_seq
  from delivery_plan
  for update skip locked
), batch as (
  select seq, id, type, athlete_id
  from change
  where seq > (select planned_seq from plan)
  order by seq
  limit $1
), planned as (
  insert into webhook_delivery (endpoint_id, seq, change_id, type, athlete_id)
  select endpoint.id, batch.seq, batch.id, batch.type, case when batch.type <> 'athlete.deleted' then batch.athlete_id end
  from batch
  join webhook_endpoint endpoint on endpoint.status = 'active' and names_type(endpoint.types, batch.type)
  where batch.type <> 'erased'
  order by batch.seq
  on conflict (seq, endpoint_id) do nothing
  returning 1
), moved as (
  update delivery_plan
  set planned_seq = (select max(seq) from batch)
  where exists (select from batch)
)
select
  (select count(*) from batch)::int as changes,
  (select count(*) from planned)::int as deliveries
