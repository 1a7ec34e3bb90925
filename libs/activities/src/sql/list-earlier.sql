select earlier.sport_type, earlier.distance_m, earlier.moving_time_s, earlier.average_heartrate
from activity
join activity as earlier
  on earlier.athlete_id = activity.athlete_id
  and (earlier.start_time, earlier.id) < (activity.start_time, activity.id)
where activity.id = $1
order by earlier.start_time desc, earlier.id desc
limit $2
