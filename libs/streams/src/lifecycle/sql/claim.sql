-- The right to one attempt, for whoever is first. Every guard is in here: nobody asks before and acts after. It is not waited
-- for on disk: one that a crash of the server forgets is claimed again, and only the first to end still finds `fetching`.
update activity
set
  stream_fetch_status = 'fetching',
  stream_fetch_attempted_at = now(),
  stream_fetch_fence = stream_fetch_fence + 1
where id = $1
  and external_activity_id is not null
  and stream_fetch_due_at(
    stream_fetch_status, stream_fetch_attempted_at, stream_fetch_retry_count, stream_fetch_deferred_until, $2, $3
  ) <= now()
returning
  id,
  stream_fetch_fence as fence,
  stream_fetch_retry_count as retry_count,
  stream_fetch_empty_count as empty_count,
  start_time + elapsed_time_s * interval '1 second' > now() - $4::float8 * interval '1 millisecond' as is_fresh,
  (select set_config('synchronous_commit', 'off', true)) as durability
