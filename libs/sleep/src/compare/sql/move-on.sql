-- Nothing where another has moved it on, or the connection is gone.
update sleep_comparison
set
  until = $3::date,
  next_at = clock_timestamp() + $4 * interval '1 millisecond'
where connection_id = $1 and begun_at = $5::timestamptz and until = $2::date
