update activity
set
  stream_fetch_status = 'unavailable',
  stream_fetch_error = null,
  stream_fetch_deferred_until = null
where id = $1
  and stream_fetch_fence = $2
  and stream_fetch_status = 'fetching'
returning id
