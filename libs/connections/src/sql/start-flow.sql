with old as (
  delete from oauth_flow where expires_at < clock_timestamp() - interval '1 hour'
)
insert into oauth_flow (state_hash, athlete_id, provider, return_url, verifier, expires_at)
select $1, a.id, $3, $4, $5, clock_timestamp() + interval '10 minutes'
from athlete a
where a.id = $2
