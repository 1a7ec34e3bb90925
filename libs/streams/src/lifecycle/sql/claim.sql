-- Claims an activity for one attempt; the first worker wins. All conditions are in this statement, so there is no gap between
-- check and write. The commit does not wait for the disk. If a crash of the server loses the claim, another worker may get a
-- claim with the same fence. Then only the first outcome of these two workers is written: the second write no longer finds `fetching`.
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
  start_time + elapsed_time_s * interval '1 second' > now() - $4::float8 * interval '1 millisecond'
    -- A create event is dated by the clock of this server. The start is dated by the device, which may upload days later, and whose clock may be
    -- wrong. An imported history has no such events.
    or exists (
      select 1
      from connection
      join webhook_event
        on webhook_event.vendor = connection.provider
        and webhook_event.owner_id = connection.vendor_athlete_id
      where connection.athlete_id = activity.athlete_id
        and connection.provider = activity.provider
        and webhook_event.object_type = 'activity'
        and webhook_event.object_id = activity.external_activity_id
        and webhook_event.aspect = 'create'
        and webhook_event.received_at > now() - $4::float8 * interval '1 millisecond'
    ) as is_fresh,
  (select set_config('synchronous_commit', 'off', true)) as durability
