-- Claims up to $1 endpoints that have a due delivery, with a lease of $2 ms. Endpoints that were claimed least often come first.
-- clock_timestamp() instead of now() would prevent the use of the index. `for no key update` lets the foreign key of new deliveries pass; `for
-- update` would skip every endpoint that the planner plans for.
with next as (
  select id
  from webhook_endpoint endpoint
  where status = 'active'
    and is_free(leased_until)
    and (paused_until is null or paused_until <= now())
    and exists (
      select
      from webhook_delivery
      where endpoint_id = endpoint.id
        and status = 'pending'
        and next_attempt_at <= now()
    )
  order by fence
  limit $1
  for no key update skip locked
)
update webhook_endpoint endpoint
set fence = fence + 1,
    leased_until = lease_end($2)
from next
where endpoint.id = next.id
returning endpoint.id, fence, url, failures, secret, case when previous_until > now() then previous_secret end as previous_secret
