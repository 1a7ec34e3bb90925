-- Returns the owner's event that has been due longest, and all waiting events about the same object. The attempt is counted before it is
-- made, so that an attempt during which the worker dies counts too. Returns nothing once another worker has claimed the owner since the
-- fence $3; the lock makes that worker's claim skip the owner until this statement ends.
with held as (
  select
  from webhook_owner
  where vendor = $1
    and owner_id = $2
    and fence = $3
  for share
),
next as (
  select object_type, object_id
  from webhook_event
  where vendor = $1
    and owner_id = $2
    and processed_at is null
    and next_attempt_at <= now()
    and exists (select from held)
  order by next_attempt_at, id
  limit 1
)
update webhook_event event
set attempts = attempts + 1
from next
where event.vendor = $1
  and event.owner_id = $2
  and event.object_type = next.object_type
  and event.object_id = next.object_id
  and event.processed_at is null
returning event.id, event.object_type, event.object_id, event.aspect, event.event_time, event.attempts,
  event.outages, event.request_id, event.traceparent, now() as claimed_at, (
  select max(gone.event_time)
  from webhook_event gone
  where gone.vendor = $1
    and gone.owner_id = $2
    and gone.object_type = event.object_type
    and gone.object_id = event.object_id
    and gone.outcome = 'deleted'
) as deleted_at
