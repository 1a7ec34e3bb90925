-- Returns a row while no other worker has claimed the owner since the fence $3. The lock makes an event that arrives now wait until the
-- owner's next turn is set. Without the lock the release could miss the event, and the event would get no turn.
select 1
from webhook_owner
where vendor = $1
  and owner_id = $2
  and fence = $3
  and leased_until is not null
for update
