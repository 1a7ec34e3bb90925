-- Ends attempts whose worker is dead or too slow. The raised fence rejects a late write.
update activity
set
  stream_fetch_status = 'failed',
  stream_fetch_error = 'fetching_timeout_cleanup',
  stream_fetch_retry_count = stream_fetch_retry_count + 1,
  stream_fetch_fence = stream_fetch_fence + 1
where stream_fetch_status = 'fetching'
  and stream_fetch_attempted_at < now() - $1::float8 * interval '1 millisecond'
returning id, athlete_id
