select
  encode(s.hash, 'hex') as hash, s.athlete_id, s.role, s.account, s.expires_at, a.subject, a.issuer,
  extract(epoch from s.expires_at - clock_timestamp())::float8 * 1000 as ms_left
from session s join athlete a on a.id = s.athlete_id
where s.hash = any($1::bytea[]) and s.expires_at > clock_timestamp()
