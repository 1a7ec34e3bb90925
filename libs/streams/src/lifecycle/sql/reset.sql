-- Puts an activity back to `pending`. An `unavailable` activity that has nothing to fetch stays `unavailable`:
-- a manual entry, or an activity of a vendor without streams ($2: the vendors with streams). Stored streams stay
-- until new streams replace them.
update activity
set
  -- An activity that became a manual entry later is tried once more: only an attempt makes it unavailable.
  stream_fetch_status = case
    when stream_fetch_status = 'unavailable' and (manual or external_activity_id is null or provider <> all ($2)) then 'unavailable'
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
