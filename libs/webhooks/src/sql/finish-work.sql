update webhook_event
set processed_at = clock_timestamp(),
    outcome = $2,
    last_error = $3
where id = any($1::bigint[])
  and processed_at is null
