-- $1 and $2 from and to, $3 the length of a bucket in seconds. The calls of each class in each bucket that has any.
select
  date_bin(make_interval(secs => $3), requested_at, $1) as at,
  class,
  count(*)::int as calls,
  (count(*) filter (where status = 429))::int as rate_limited
from strava_api_requests
where requested_at >= $1::timestamptz
  and requested_at < $2::timestamptz
group by 1, 2
