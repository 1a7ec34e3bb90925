-- Back to the beginning, where there is one: what has been unavailable from the start has nothing to fetch. What was stored
-- stays until something new is.
update activity
set
  -- What became a manual entry only later is asked for once more: only an attempt makes it unavailable.
  stream_fetch_status = case
    when stream_fetch_status = 'unavailable' and (manual or external_activity_id is null) then 'unavailable'
    else 'pending'
  end,
  stream_fetch_error = null,
  stream_fetch_retry_count = 0,
  stream_fetch_empty_count = 0,
  stream_fetch_deferred_until = null,
  stream_fetch_fence = stream_fetch_fence + 1
where id = $1
returning
  id as activity_id,
  athlete_id,
  stream_fetch_status as status,
  stream_fetch_error as error,
  stream_fetch_retry_count as retry_count,
  stream_fetch_attempted_at as attempted_at,
  stream_fetch_deferred_until as deferred_until
