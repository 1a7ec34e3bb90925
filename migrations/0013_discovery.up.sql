-- What may be processed and has not been handed to the runtime: looked at every second, and nearly always empty.
create index activity_undiscovered on activity (start_time desc)
  where first_seen_at is null and stream_fetch_status in ('success', 'unavailable');
-- What operators look for; the rest of a long list they read rarely enough to have it sorted.
create index jobs_failed on jobs (requested_at_utc desc, job_id desc) where status = 'failed_permanent';
