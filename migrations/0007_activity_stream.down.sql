drop trigger activity_stream_fetch_moves on activity;
drop trigger activity_stream_fetch_begins on activity;
drop function stream_fetch_moves();
drop function stream_fetch_begins();
alter table activity
  drop column stream_fetch_status,
  drop column stream_fetch_attempted_at,
  drop column stream_fetch_error,
  drop column stream_fetch_retry_count,
  drop column stream_fetch_deferred_until,
  drop column stream_fetch_empty_count,
  drop column stream_fetch_fence;
drop function stream_fetch_due_at(text, timestamptz, integer, timestamptz, integer, double precision[]);
drop table activity_stream;
