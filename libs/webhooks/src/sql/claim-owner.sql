-- Claims the owner whose turn has come first, with a lease of $2 ms. `turn_at` stays as it is, so that an owner whose worker has died is
-- claimed once the lease has ended. clock_timestamp() instead of now() would prevent the use of the index.
with next as (
  select vendor, owner_id
  from webhook_owner
  where vendor = $1
    and turn_at <= now()
    and is_free(leased_until)
  order by turn_at
  limit 1
  for update skip locked
)
update webhook_owner owner
set fence = nextval('webhook_owner_fence'),
    leased_until = lease_end($2)
from next
where owner.vendor = next.vendor
  and owner.owner_id = next.owner_id
returning owner.owner_id, owner.fence
