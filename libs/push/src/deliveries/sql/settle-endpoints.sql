-- Ends claims ($1 endpoints, $2 fences). $3: failures in a row now; $4: whether there was a success; $5: the pause in ms; $6: the reason to
-- disable the endpoint; $7: an endpoint that fails for longer than this many ms is disabled, once a further attempt has failed.
update webhook_endpoint endpoint
set leased_until = null,
    failures = claim.failures,
    failing_since = failing.since,
    paused_until = clock_timestamp() + claim.pause_ms * interval '1 millisecond',
    status = case when verdict.reason is null then endpoint.status else 'disabled' end,
    disabled_reason = coalesce(verdict.reason, endpoint.disabled_reason)
from unnest($1::uuid[], $2::bigint[], $3::int[], $4::boolean[], $5::float8[], $6::text[])
  as claim (endpoint_id, fence, failures, has_succeeded, pause_ms, reason)
join webhook_endpoint known on known.id = claim.endpoint_id
cross join lateral (
  select case
    when claim.failures = 0 then null
    when claim.has_succeeded then clock_timestamp()
    else coalesce(known.failing_since, clock_timestamp())
  end as since
) as failing
cross join lateral (
  select case
    when known.status <> 'active' then null
    when claim.reason is not null then claim.reason
    when claim.failures > known.failures and failing.since < clock_timestamp() - $7::float8 * interval '1 millisecond'
      then 'No delivery has succeeded for five days.'
  end as reason
) as verdict
where endpoint.id = claim.endpoint_id
  and endpoint.fence = claim.fence
returning endpoint.id, verdict.reason
