with due as (
  select id
  from receipt
  where completed_at is null
    -- The clocks of NATS and Postgres may differ by $3 ms. After this wait, NATS dates every new event later than the deletion.
    and rows_deleted_at <= clock_timestamp() - $3 * interval '1 millisecond'
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
