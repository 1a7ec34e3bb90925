-- What we have in that range and the vendor's list does not.
select external_activity_id
from activity
where athlete_id = $1
  and provider = 'strava'
  and external_activity_id is not null
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and created_at < $3
  and not external_activity_id = any ($4)
order by start_time desc
limit $5
