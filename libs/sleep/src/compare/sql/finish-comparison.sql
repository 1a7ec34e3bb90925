update sleep_comparison
set
  compared_at = begun_at,
  begun_at = null,
  since = null,
  until = null,
  next_at = clock_timestamp()
where connection_id = $1 and begun_at = $3::timestamptz and until = $2::date
