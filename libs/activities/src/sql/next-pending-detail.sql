select id, external_activity_id
from activity
where athlete_id = $1
  and detail_status = 'pending'
  and external_activity_id is not null
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and (detail_retry_at is null or detail_retry_at <= clock_timestamp())
  and not external_activity_id = any ($3)
order by start_time desc
limit 1
