-- Uses now(): clock_timestamp() is volatile, so the planner would not use the index.
delete from strava_api_requests
where id = any(array(
  select id
  from strava_api_requests
  where requested_at < now() - make_interval(secs => $1)
  order by requested_at
  limit $2
))
