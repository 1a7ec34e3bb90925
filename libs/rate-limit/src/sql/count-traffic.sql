-- $1 seconds, $2 a window, $3 a day. Counts by class the calls of the last seconds, and how many of them were made in this window and on this
-- day. Uses now(): clock_timestamp() is volatile, so the planner would not use the index.
select
  class,
  count(*)::int as calls,
  (count(*) filter (where status = 429))::int as rate_limited,
  (count(*) filter (where window_id = $2))::int as in_window,
  (count(*) filter (where day_id = $3))::int as in_day
from strava_api_requests
where requested_at >= now() - make_interval(secs => $1)
group by class
