-- Stores the sequences ($2) of messages that were found in the NATS stream, by the ids ($1) of their changes, while the fence $5 holds. Only the
-- $4 changes after $3 can lack theirs. Returns a row if the fence holds.
with held as (
  select
  from change_relay
  where fence = $5
  for share
),
found as (
  update change
  set published_as = stored.stream_seq
  from unnest($1::uuid[], $2::bigint[]) as stored (id, stream_seq)
  where change.seq > $3
    and change.seq <= $3 + $4
    and change.id = stored.id
    and exists (select from held)
)
select
from held
