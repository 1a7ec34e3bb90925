-- Due again after $5 ms; what has been tried $6 times is set aside. $7 attempts are given back.
with released as (
  update webhook_owner
  set lease = null, leased_until = null
  where vendor = $1
    and owner_id = $2
    and lease = $3
  returning 1
)
update webhook_event
set attempts = attempts - $7::integer,
    next_attempt_at = clock_timestamp() + $5::float8 * interval '1 millisecond',
    last_error = $8,
    processed_at = case when attempts >= $6::integer then clock_timestamp() end,
    outcome = case when attempts >= $6::integer then 'set_aside' end
where id = any($4::bigint[])
  and processed_at is null
  and exists (select 1 from released)
returning outcome
