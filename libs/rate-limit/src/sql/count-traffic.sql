-- now() and not clock_timestamp(), which would keep the index from being used.
select
  class,
  count(*)::int as calls,
  (count(*) filter (where status = 429))::int as rate_limited
from strava_api_requests
where requested_at >= now() - make_interval(secs => $1)
group by class
