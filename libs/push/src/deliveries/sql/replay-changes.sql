-- Works the next $1 changes of the replay that has waited longest: makes their deliveries due again, and creates those that are missing.
-- Deletes the replay at its end. A delivery that is still pending keeps its attempts and is due at once.
with replay as (
  select *
  from webhook_replay
  order by worked_at, id
  limit 1
  for update skip locked
), batch as (
  select change.seq, change.id, change.type, change.athlete_id, change.occurred_at
  from change
  where change.seq > (select next_seq from replay)
    and change.seq <= (select last_seq from replay)
  order by change.seq
  limit $1
), planned as (
  insert into webhook_delivery as known (endpoint_id, seq, change_id, type, athlete_id)
  select endpoint.id, batch.seq, batch.id, batch.type, case when batch.type <> 'athlete.deleted' then batch.athlete_id end
  from replay
  join webhook_endpoint endpoint on endpoint.id = replay.endpoint_id and endpoint.status <> 'deleted'
  join batch
    on batch.occurred_at between replay.from_time and replay.to_time
    and names_type(endpoint.types, batch.type)
  where batch.type <> 'erased'
  order by batch.seq
  on conflict (seq, endpoint_id) do update set
    status = 'pending',
    attempts = case when known.status = 'pending' then known.attempts else 0 end,
    next_attempt_at = clock_timestamp()
  returning 1
), moved as (
  update webhook_replay
  set next_seq = (select max(seq) from batch),
      worked_at = clock_timestamp()
  where id = (select id from replay)
    and (select count(*) from batch) = $1
), ended as (
  delete from webhook_replay
  where id = (select id from replay)
    and (select count(*) from batch) < $1
)
select
  (select count(*) from replay)::int as replays,
  (select count(*) from planned)::int as deliveries
