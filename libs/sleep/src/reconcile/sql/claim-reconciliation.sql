-- Claims the reconciliation that has been due longest at the vendor $1. Until it is done or the lease of $2 ms ends, other workers claim
-- the next one. An interrupted reconciliation continues from `until`. $3 days: the history of a new connection; $4 days: nights are kept so
-- long, null for ever.
with due as (
  select sleep_comparison.athlete_id, sleep_comparison.connection_id
  from sleep_comparison
  join connection
    on connection.athlete_id = sleep_comparison.athlete_id
    and connection.id = sleep_comparison.connection_id
    and connection.status = 'active'
  where sleep_comparison.provider = $1
    and sleep_comparison.next_at <= now()
    and is_free(sleep_comparison.leased_until)
  order by sleep_comparison.next_at
  limit 1
  for no key update of sleep_comparison skip locked
), claimed as (
  update sleep_comparison
  set
    begun_at = coalesce(begun_at, clock_timestamp()),
    -- 14 days before the last reconciliation: an event may have been lost long after its night.
    since = coalesce(
      since,
      greatest(coalesce((compared_at at time zone 'utc')::date - 14, today - $3::int), today - $4::int)
    ),
    -- today + 1: in some time zones it is tomorrow already.
    until = coalesce(until, today + 1),
    leased_until = lease_end($2),
    fence = fence + 1
  from due
  cross join (select (clock_timestamp() at time zone 'utc')::date as today) as clock
  where sleep_comparison.athlete_id = due.athlete_id
    and sleep_comparison.connection_id = due.connection_id
  returning sleep_comparison.*
)
select
  claimed.connection_id, claimed.athlete_id, connection.vendor_athlete_id, athlete.subject, clock_timestamp() as claimed_at,
  connection.connected_at::text as connected_at,
  claimed.begun_at::text as begun_at, claimed.compared_at is null as is_history, claimed.fence,
  to_char(claimed.since, 'YYYY-MM-DD') as since, to_char(claimed.until, 'YYYY-MM-DD') as until
from claimed
join connection
  on connection.athlete_id = claimed.athlete_id
  and connection.id = claimed.connection_id
join athlete on athlete.id = claimed.athlete_id
