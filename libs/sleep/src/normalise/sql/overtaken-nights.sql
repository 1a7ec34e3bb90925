select
  told.user_id, to_char(told.date, 'YYYY-MM-DD') as date, sleep_data.event_id, duration_minutes, quality_score, vendor,
  captured_at, true as changed
from unnest(string_to_array($1, chr(30), ''), $2::date[], string_to_array($3, chr(30), '')) as told (user_id, date, event_id)
left join sleep_data on sleep_data.user_id = told.user_id and sleep_data.date = told.date
where sleep_data.event_id is distinct from told.event_id
