with due as (
  select id
  from receipt
  where completed_at is null
    and rows_deleted_at is not null
    and is_free(leased_until)
  order by requested_at
  limit $2
  for update skip locked
)
update receipt
set fence = fence + 1, leased_until = lease_end($1)
from due
where receipt.id = due.id
returning receipt.id, athlete_id, subject, provider, accounts, rows_deleted_at, fence
