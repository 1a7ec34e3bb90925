select
  id, external_activity_id, name, sport_type, start_time, timezone, distance_m, moving_time_s, elapsed_time_s,
  elevation_gain_m, average_heartrate, manual, photos,
  stream_fetch_status
from activity
where athlete_id = $1
  and start_time >= coalesce($2, '-infinity'::timestamptz)
  and start_time < coalesce($3, 'infinity'::timestamptz)
  and ($4::text is null or sport_type = $4)
  and ($5::timestamptz is null or (start_time, id) < ($5, $6::uuid))
order by start_time desc, id desc
limit $7
