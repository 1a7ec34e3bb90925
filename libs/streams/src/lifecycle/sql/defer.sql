-- A deferral uses no attempt. $5: 1 if the vendor had no streams yet, otherwise 0.
update activity
set
  stream_fetch_status = 'deferred',
  stream_fetch_error = $3,
  stream_fetch_deferred_until = now() + $4::float8 * interval '1 millisecond',
  stream_fetch_empty_count = stream_fetch_empty_count + $5::integer
where id = $1
  and stream_fetch_fence = $2
  and stream_fetch_status = 'fetching'
returning stream_fetch_deferred_until as deferred_until
