-- Sets the owner's next turn: $3 ms from now, or when the owner's next event is due if that is later. So owners whose turn has come are
-- served first. Deletes the owner's row if no event waits.
with next as (
  select min(next_attempt_at) as due_at
  from webhook_event
  where vendor = $1
    and owner_id = $2
    and processed_at is null
),
served as (
  delete from webhook_owner
  using next
  where vendor = $1
    and owner_id = $2
    and next.due_at is null
)
update webhook_owner
set leased_until = null,
    turn_at = greatest(next.due_at, clock_timestamp() + $3::float8 * interval '1 millisecond')
from next
where vendor = $1
  and owner_id = $2
  and next.due_at is not null
