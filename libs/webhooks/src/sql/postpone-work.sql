-- Makes the events due again after $2 ms, and sets aside those with $3 attempts or more. $4 is 'attempt', 'outage' or 'nothing'.
-- begin-work.sql has counted an attempt already; for the other two, this statement takes it back.
update webhook_event
set attempts = attempts - ($4 <> 'attempt')::integer,
    outages = case $4 when 'attempt' then 0 when 'outage' then outages + 1 else outages end,
    next_attempt_at = clock_timestamp() + $2::float8 * interval '1 millisecond',
    last_error = $5,
    processed_at = case when attempts >= $3::integer then clock_timestamp() end,
    outcome = case when attempts >= $3::integer then 'set_aside' end
where id = any($1::bigint[])
  and processed_at is null
returning outcome
