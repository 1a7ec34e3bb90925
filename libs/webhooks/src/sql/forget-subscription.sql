-- Deletes the stored subscription of topic $3 while the fence $2 holds, and then returns a row, also if none was stored.
with held as (
  select
  from webhook_subscription_keeper
  where vendor = $1
    and fence = $2
  for share
),
forgotten as (
  delete from webhook_subscription
  where vendor = $1
    and topic = $3
    and exists (select from held)
)
select
from held
