select stream_fetch_retry_count as retries, count(*)::int as activities
from activity
where stream_fetch_status = 'failed'
  and external_activity_id is not null
group by stream_fetch_retry_count
order by stream_fetch_retry_count
