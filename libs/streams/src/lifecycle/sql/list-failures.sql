-- The $5 most frequent reasons of failed fetches, each with its newest five activities: a row for each activity. With 20,000 failed fetches
-- among 1,000,000 activities it takes 3 ms if vacuum has marked the pages as visible (the index activity_stream_failed has all that is
-- counted), and 180 ms otherwise. $1: most attempts. $2: the delays of stream_fetch_due_at. $3: one reason, or null. $4: activities of each
-- reason.
with reason as (
  select
    stream_fetch_error as error,
    count(*)::int as count,
    count(*) filter (where stream_fetch_retry_count >= $1)::int as stuck,
    min(stream_fetch_attempted_at) as oldest_at,
    max(stream_fetch_attempted_at) as newest_at
  from activity
  where stream_fetch_status = 'failed'
    and ($3::text is null or stream_fetch_error = $3)
  group by stream_fetch_error
  order by count desc, error
  limit $5
)
select
  reason.*, sample.id as activity_id, sample.athlete_id, sample.name,
  stream_fetch_due_at('failed', sample.stream_fetch_attempted_at, sample.stream_fetch_retry_count, null, $1, $2) as retry_at
from reason
cross join lateral (
  select id, athlete_id, name, stream_fetch_attempted_at, stream_fetch_retry_count
  from activity
  where stream_fetch_status = 'failed'
    and stream_fetch_error = reason.error
  order by stream_fetch_attempted_at desc
  limit $4
) as sample
order by reason.count desc, reason.error, sample.stream_fetch_attempted_at desc
