select
  id, external_activity_id, name, sport_type, start_time, timezone, distance_m, moving_time_s, elapsed_time_s,
  elevation_gain_m, average_heartrate, manual, photos, description, laps, splits,
  polyline, summary_polyline,
  stream_fetch_status
from activity
where athlete_id = $1
  and id = $2
