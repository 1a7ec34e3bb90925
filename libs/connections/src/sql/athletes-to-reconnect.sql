-- $1 and $2 the place after which the page begins, $3 how many. The index connection_needs_reauth finds all of them; they are few.
select
  a.id,
  a.subject,
  api_time(a.created_at) as created_at,
  to_char(a.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
from athlete a
where a.id in (select athlete_id from connection where status = 'needs_reauth')
  and (a.created_at, a.id) < ($1::timestamptz, $2::uuid)
order by a.created_at desc, a.id desc
limit $3
