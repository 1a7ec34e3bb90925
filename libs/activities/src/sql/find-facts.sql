select sport_type, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m
from activity
where id = $1
