-- Activities that may be processed and have no job yet. Workers read this index every second. It is nearly always empty.
create index activity_undiscovered on activity (start_time desc)
  where first_seen_at is null and stream_fetch_status in ('success', 'unavailable');
-- For the list of failed jobs, which operators read most. Lists with other filters are sorted when they are read.
create index jobs_failed on jobs (requested_at_utc desc, job_id desc) where status = 'failed_permanent';
