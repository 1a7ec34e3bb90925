update receipt
set fence = fence + 1, leased_until = lease_end($1)
where id = (
  select id
  from receipt
  where completed_at is null
    and rows_deleted_at is null
    and is_free(leased_until)
  order by requested_at
  limit 1
  for update skip locked
)
returning id, athlete_id, provider, reason, accounts, deleted, requested_at, fence
