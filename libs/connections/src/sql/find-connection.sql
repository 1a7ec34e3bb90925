-- Ages are computed here, by the database's clock, so that the clocks of the processes may differ.
select
  c.id,
  c.athlete_id,
  c.vendor_athlete_id,
  c.scopes,
  c.status,
  c.access_token,
  c.token_fence,
  extract(epoch from c.expires_at - clock_timestamp())::float8 * 1000 as expires_in_ms,
  extract(epoch from clock_timestamp() - c.refresh_failed_at)::float8 * 1000 as failed_ms_ago,
  a.generation::float8 as generation
from connection c
join athlete a on a.id = c.athlete_id
where c.athlete_id = $1 and c.provider = $2
