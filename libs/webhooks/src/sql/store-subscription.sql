-- Stores the subscription while the fence $3 holds. A secret is issued once, when the subscription is created, so null keeps the known one.
insert into webhook_subscription as known (vendor, topic, subscription_id, secret, key_version)
select $1, $2, $4, $5, $6
from webhook_subscription_keeper
where vendor = $1
  and fence = $3
for share
on conflict (vendor, topic) do update
set subscription_id = excluded.subscription_id,
    secret = case
      when known.subscription_id = excluded.subscription_id then coalesce(excluded.secret, known.secret)
      else excluded.secret
    end,
    key_version = case
      when known.subscription_id = excluded.subscription_id then coalesce(excluded.key_version, known.key_version)
      else excluded.key_version
    end,
    seen_at = clock_timestamp()
