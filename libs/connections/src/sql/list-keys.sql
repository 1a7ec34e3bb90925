select
  id,
  name,
  scopes,
  created_at,
  revoked_at,
  last_used_at,
  to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
from service_key
where (created_at, id) < (coalesce($1, 'infinity'::timestamptz), coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
order by created_at desc, id desc
limit $3
