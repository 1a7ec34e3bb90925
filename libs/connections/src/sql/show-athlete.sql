select
  a.id,
  a.subject,
  a.created_at,
  to_char(a.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place,
  (
    select coalesce(json_agg(json_build_object('provider', c.provider, 'status', c.status) order by c.connected_at, c.provider), '[]')
    from connection c
    where c.athlete_id = a.id
  ) as connections
from athlete a
where a.id = $1
