select
  (select count(*) from strava_api_requests where window_id = $1)::int as in_window,
  (select count(*) from strava_api_requests where day_id = $2)::int as in_day,
  exists (select from strava_api_requests where window_id = $1 and status = 429) as is_rate_limited
