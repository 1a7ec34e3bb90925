-- What we have in that range and the vendor's list did not have: its rows were asked for since the comparison began.
select external_activity_id
from activity
where athlete_id = $1
  and provider = 'strava'
  and external_activity_id is not null
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and asked_at < $3
order by start_time desc
limit $4
