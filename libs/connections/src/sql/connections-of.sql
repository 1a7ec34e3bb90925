select athlete_id, provider, status, vendor_athlete_id, scopes, connected_at
from connection
where athlete_id = any($1::uuid[])
order by connected_at, provider
