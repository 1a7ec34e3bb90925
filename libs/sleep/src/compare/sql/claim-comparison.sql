-- The connected person whose list was compared longest ago, the new ones first. Until it is done, or the lease ends, others
-- find the next; one that was cut short goes on from where it was.
with due as (
  select connection.id
  from connection
  left join sleep_comparison on sleep_comparison.connection_id = connection.id
  where connection.provider = $1
    and connection.status = 'active'
    and (
      sleep_comparison.connection_id is null
      or sleep_comparison.next_at <= clock_timestamp()
      and (
        sleep_comparison.begun_at is not null
        or sleep_comparison.compared_at < clock_timestamp() - $2 * interval '1 millisecond'
      )
    )
  order by sleep_comparison.compared_at nulls first, connection.connected_at
  limit 1
  for no key update of connection skip locked
), claimed as (
  insert into sleep_comparison as kept (connection_id, begun_at, since, until, next_at)
  -- Somewhere it is tomorrow already.
  select
    id, clock_timestamp(), today - $4::int, today + 1, clock_timestamp() + $3 * interval '1 millisecond'
  from due
  cross join (select (clock_timestamp() at time zone 'utc')::date as today) as clock
  on conflict (connection_id) do update
  set
    begun_at = coalesce(kept.begun_at, excluded.begun_at),
    -- Of two weeks before the last one: an event may have been lost long after its night.
    since = coalesce(kept.since, (kept.compared_at at time zone 'utc')::date - 14),
    until = coalesce(kept.until, excluded.until),
    next_at = excluded.next_at
  -- Another may have claimed it since it was found.
  where kept.next_at <= clock_timestamp()
  returning *
)
select
  claimed.connection_id, connection.athlete_id, connection.vendor_athlete_id, athlete.subject, clock_timestamp() as claimed_at,
  connection.connected_at::text as connected_at,
  claimed.begun_at::text as begun_at, claimed.compared_at is null as is_history,
  to_char(claimed.since, 'YYYY-MM-DD') as since, to_char(claimed.until, 'YYYY-MM-DD') as until
from claimed
join connection on connection.id = claimed.connection_id
join athlete on athlete.id = connection.athlete_id
