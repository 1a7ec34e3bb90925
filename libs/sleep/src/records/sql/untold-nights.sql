select
  untold.user_id, to_char(untold.date, 'YYYY-MM-DD') as date, untold.because, sleep_data.event_id, duration_minutes,
  quality_score, vendor, captured_at, true as changed
from sleep_untold as untold
left join sleep_data on sleep_data.user_id = untold.user_id and sleep_data.date = untold.date
order by untold.since, untold.user_id, untold.date
limit $1
