-- Writes how attempts ended, if their endpoints are still claimed with the fences in $2. $5 is the pause before the next attempt in ms; null:
-- there is none. Returns the attempts whose fence holds; a deletion may have deleted their deliveries. Every statement that locks several
-- deliveries does so in the order of the log, so that no two meet in a deadlock.
with held as (
  select attempt.*
  from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::boolean[], $5::float8[], $6::int[], $7::text[], $8::text[])
    as attempt (endpoint_id, fence, id, is_delivered, retry_ms, status, response, error)
  join webhook_endpoint endpoint on endpoint.id = attempt.endpoint_id and endpoint.fence = attempt.fence
),
attempt as (
  select held.*
  from held
  join webhook_delivery delivery on delivery.endpoint_id = held.endpoint_id and delivery.id = held.id
  order by delivery.seq, delivery.endpoint_id, delivery.id
  for no key update of delivery
),
written as (
  update webhook_delivery delivery
  set attempts = attempts + 1,
      status = case when attempt.is_delivered then 'delivered' when attempt.retry_ms is null then 'failed' else 'pending' end,
      next_attempt_at = case when not attempt.is_delivered then clock_timestamp() + attempt.retry_ms * interval '1 millisecond' end,
      delivered_at = coalesce(delivered_at, case when attempt.is_delivered then clock_timestamp() end),
      last_status = attempt.status,
      last_response = attempt.response,
      last_error = attempt.error
  from attempt
  where delivery.endpoint_id = attempt.endpoint_id
    and delivery.id = attempt.id
  returning delivery.id
)
select held.id, written.id is not null as is_written
from held
left join written on written.id = held.id
