-- The oldest event that is due of the owner who was served longest ago, with the owner's lease: one worker at a time has an
-- owner's events, and however many owners are busy, a quiet one's event waits for one round of them at most.
with due as (
  select owner.vendor, owner.owner_id, event.object_type, event.object_id
  from webhook_event event
  join webhook_owner owner using (vendor, owner_id)
  where event.vendor = $1
    and event.processed_at is null
    and event.next_attempt_at <= clock_timestamp()
    and (owner.leased_until is null or owner.leased_until <= clock_timestamp())
  order by owner.served_at, event.id
  limit 1
  for update of owner skip locked
)
update webhook_owner owner
set lease = $2,
    leased_until = clock_timestamp() + $3::float8 * interval '1 millisecond',
    served_at = clock_timestamp()
from due
where owner.vendor = due.vendor
  and owner.owner_id = due.owner_id
returning due.owner_id, due.object_type, due.object_id
