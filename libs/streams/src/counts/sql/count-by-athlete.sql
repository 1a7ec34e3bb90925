-- Those who wait for most come first.
select
  athlete_id,
  count(*) filter (where stream_fetch_status = 'pending')::int as pending,
  count(*) filter (where stream_fetch_status = 'fetching')::int as fetching,
  count(*) filter (where stream_fetch_status = 'success')::int as success,
  count(*) filter (where stream_fetch_status = 'failed')::int as failed,
  count(*) filter (where stream_fetch_status = 'deferred')::int as deferred,
  count(*) filter (where stream_fetch_status = 'unavailable')::int as unavailable
from activity
group by athlete_id
order by count(*) filter (where stream_fetch_status not in ('success', 'unavailable')) desc, athlete_id
limit $1
