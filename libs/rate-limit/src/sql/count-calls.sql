-- $1 a window, $2 a day, $3 ms now. Counts the calls of the window and of the day.
-- closed_* describe the window that a 429 closed for the longest time from now; they are null if no window is closed.
select
  (select count(*) from strava_api_requests where window_id = $1)::int as in_window,
  (select count(*) from strava_api_requests where day_id = $2)::int as in_day,
  closed_window,
  ceil(extract(epoch from closed_until) * 1000)::float8 as closed_until_ms
from (values (1)) as one
left join (
  select closed_window, closed_until
  from strava_api_requests
  where closed_until > to_timestamp($3::float8 / 1000)
  order by closed_until desc
  limit 1
) closed on true
