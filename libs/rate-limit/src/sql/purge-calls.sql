-- now() and not clock_timestamp(), which would keep the index from being used.
delete from strava_api_requests
where id = any(array(
  select id
  from strava_api_requests
  where requested_at < now() - make_interval(secs => $1)
  order by requested_at
  limit $2
))
