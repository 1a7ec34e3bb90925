-- Returns the due deliveries of claimed endpoints: for each claim ($1 endpoints, $2 fences) up to $3, without those under way ($4).
-- `signed_at` is the time by the database's clock. `has_change` is false if the change was erased or purged meanwhile.
select
  due.endpoint_id, due.id as delivery_id, due.attempts, due.change_id as id,
  floor(extract(epoch from clock_timestamp()))::text as signed_at,
  (due.body is not null or change.seq is not null) as has_change,
  due.body::text as body,
  change.type, change.athlete_id, change.subject_id, change.revision, api_time(change.occurred_at) as occurred_at, change.data::text as data
from unnest($1::uuid[], $2::bigint[], $3::int[]) as claim (endpoint_id, fence, most)
join webhook_endpoint endpoint on endpoint.id = claim.endpoint_id and endpoint.fence = claim.fence and endpoint.status = 'active'
cross join lateral (
  select *
  from webhook_delivery
  where webhook_delivery.endpoint_id = claim.endpoint_id
    and status = 'pending'
    and next_attempt_at <= now()
    and id <> all($4::bigint[])
  order by next_attempt_at
  limit claim.most
) as due
left join change on change.seq = due.seq and change.id = due.change_id and change.type <> 'erased'
