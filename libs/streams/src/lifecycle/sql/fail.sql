-- The reason is cut to 500 characters, because an index holds it.
update activity
set
  stream_fetch_status = 'failed',
  stream_fetch_error = left($3, 500),
  stream_fetch_retry_count = stream_fetch_retry_count + 1,
  stream_fetch_deferred_until = null
where id = $1
  and stream_fetch_fence = $2
  and stream_fetch_status = 'fetching'
returning stream_fetch_retry_count as retry_count
