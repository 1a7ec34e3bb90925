-- $1 windows, $2 days, $3 ms now, $4 the most ms for which a window is closed. Counts the calls of these windows and of these days. closed_*
-- describe the window that a 429 closed for the longest time from now; they are null if no window is closed. An end that is further away than
-- $4 ms was computed before Redis' clock was set back, and does not count.
select
  -- Counts each window by itself: with `= any` the planner does not know the number of windows, and reads the whole table.
  (
    select sum(calls)
    from (select distinct unnest($1::bigint[])) as asked (id)
    cross join lateral (select count(*) as calls from strava_api_requests where window_id = asked.id) as counted
  )::int as in_window,
  (
    select sum(calls)
    from (select distinct unnest($2::bigint[])) as asked (id)
    cross join lateral (select count(*) as calls from strava_api_requests where day_id = asked.id) as counted
  )::int as in_day,
  closed_window,
  ceil(extract(epoch from closed_until) * 1000)::float8 as closed_until_ms
from (values (1)) as one
left join (
  select closed_window, closed_until
  from strava_api_requests
  where closed_until > to_timestamp($3::float8 / 1000)
    and closed_until <= to_timestamp(($3::float8 + $4::float8) / 1000)
  order by closed_until desc
  limit 1
) closed on true
