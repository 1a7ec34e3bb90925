-- Deletes deliveries of an endpoint that are older than $2 ms. The oldest $3 come first, so that a pass over a young table stops at once.
-- Locks them in the order of the log, as `write-attempts.sql` does.
with past as (
  select id
  from webhook_delivery
  where endpoint_id = $1
    and id = any(array(
      select id
      from (
        select id, created_at
        from webhook_delivery
        where endpoint_id = $1
        order by id
        limit $3
      ) as oldest
      where created_at < clock_timestamp() - $2::float8 * interval '1 millisecond'
    ))
  order by seq, id
  for update
)
delete from webhook_delivery
using past
where webhook_delivery.endpoint_id = $1
  and webhook_delivery.id = past.id
