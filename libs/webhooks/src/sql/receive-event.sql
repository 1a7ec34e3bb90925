-- Stores one row per event, also when the event is sent again. An event of another subscription is stored as ignored. If the owner has
-- no connection, nothing is stored, not even the owner's id: the owner may have been deleted. If the owner connects later, the import reads a
-- list that is newer than this event. The share lock orders this statement and a disconnection at the same time: the later of the two waits
-- for the earlier. $7 is null if the vendor sends no time, $9 if it names no subscription, $10 and $11 if no request caused the event.
with connected as (
  select 1
  from connection
  where provider = $1
    and vendor_athlete_id = $3
  for key share
),
verdict as (
  select
    exists (select 1 from connected) as is_known,
    coalesce((select bool_and(subscription_id <> $9) from webhook_subscription where vendor = $1), false) as is_elsewhere
),
event as (
  insert into webhook_event
    (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome, request_id, traceparent)
  select
    $1, $2, $3, $4, $5, $6, coalesce($7, clock_timestamp()), $8,
    case when is_elsewhere then clock_timestamp() end,
    case when is_elsewhere then 'ignored' end,
    $10, $11
  from verdict
  where is_known
  on conflict (vendor, dedupe_key) do nothing
  returning id, outcome
),
owner as (
  insert into webhook_owner (vendor, owner_id)
  select $1, $3
  from event
  where outcome is null
  -- While a worker handles the owner's events, the release decides the owner's next turn.
  on conflict (vendor, owner_id) do update set
    turn_at = least(webhook_owner.turn_at, excluded.turn_at)
)
select
  case
    when not is_known then 'ignored'
    when event.id is null then 'duplicate'
    else coalesce(event.outcome, 'received')
  end as result
from verdict
left join event on true
