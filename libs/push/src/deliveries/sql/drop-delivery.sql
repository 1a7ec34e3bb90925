-- Ends a delivery ($3) whose change was purged or erased, if the endpoint ($1) still has the fence $2. Returns a row if it has.
with held as (
  select
  from webhook_endpoint
  where id = $1
    and fence = $2
  for share
),
dropped as (
  update webhook_delivery
  set status = 'failed',
      next_attempt_at = null,
      last_error = 'The change is no longer kept.'
  where endpoint_id = $1
    and id = $3
    and exists (select from held)
)
select
from held
