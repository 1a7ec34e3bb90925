-- One row per event, however often it is sent. One that belongs to a subscription that is not ours is kept, and ignored.
with owner as (
  insert into webhook_owner (vendor, owner_id)
  values ($1, $3)
  -- An update of nothing: it waits for whoever is deleting this owner.
  on conflict (vendor, owner_id) do update set owner_id = excluded.owner_id
)
insert into webhook_event
  (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome)
select
  $1, $2, $3, $4, $5, $6, $7, $8,
  case when subscribed.elsewhere then clock_timestamp() end,
  case when subscribed.elsewhere then 'ignored' end
from (
  select exists (
    select 1
    from webhook_subscription
    where vendor = $1
      and subscription_id <> $9
  ) as elsewhere
) subscribed
on conflict (vendor, dedupe_key) do nothing
returning outcome
