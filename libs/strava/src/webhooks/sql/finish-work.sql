-- Only for who still holds the lease: another worker may have taken over meanwhile.
with released as (
  update webhook_owner
  set lease = null, leased_until = null
  where vendor = $1
    and owner_id = $2
    and lease = $3
  returning 1
)
update webhook_event
set processed_at = clock_timestamp(),
    outcome = $5,
    last_error = $6
where id = any($4::bigint[])
  and processed_at is null
  and exists (select 1 from released)
