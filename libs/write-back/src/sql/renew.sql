update write_back
set leased_until = now() + $3::float8 * interval '1 millisecond'
where activity_id = $1
  and fence = $2
  and status = 'writing'
