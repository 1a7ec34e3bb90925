-- All endpoints with the health of their deliveries, oldest first; $1: only this one, or null. Counts stop at $2, and the last success is looked for
-- among the newest $3 deliveries, so that an endpoint with a million deliveries costs no more.
select
  endpoint.id, url, types, description, status, disabled_reason, endpoint.created_at,
  failures, failing_since,
  case when paused_until > now() and failures > 0 then paused_until end as paused_until,
  pending.count as pending, failed.count as failed, last_success.at as last_success_at
from webhook_endpoint as endpoint
cross join lateral (
  select count(*)::int as count
  from (
    select from webhook_delivery where endpoint_id = endpoint.id and status = 'pending' limit $2
  ) as counted
) as pending
cross join lateral (
  select count(*)::int as count
  from (
    select from webhook_delivery where endpoint_id = endpoint.id and status = 'failed' limit $2
  ) as counted
) as failed
cross join lateral (
  select max(delivered_at) as at
  from (
    select delivered_at from webhook_delivery where endpoint_id = endpoint.id order by id desc limit $3
  ) as newest
) as last_success
where status <> 'deleted'
  and ($1::uuid is null or endpoint.id = $1)
order by endpoint.created_at, endpoint.id
