update receipt
set leased_until = clock_timestamp() + $1 * interval '1 millisecond'
where id = (
  select id
  from receipt
  where completed_at is null
    and (leased_until is null or leased_until <= clock_timestamp())
  order by requested_at
  limit 1
  for update skip locked
)
returning id, athlete_id, provider, reason, accounts, deleted, requested_at
