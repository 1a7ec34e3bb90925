-- Deletes the code in the statement that begins the session, so that only one of two requests with the same code finds it. The athlete's row is
-- locked first, as in a deletion: another order could deadlock.
with found as materialized (
  select c.hash, a.subject, a.issuer
  from sign_in_code c join athlete a on a.id = c.athlete_id
  where c.hash = $1 and c.expires_at > clock_timestamp()
  for key share of a
),
taken as (
  delete from sign_in_code c
  using found
  where c.hash = found.hash
  returning c.athlete_id, c.role, c.account, c.token_expires_at
),
begun as (
  insert into session (hash, athlete_id, role, account, expires_at)
  select $2, athlete_id, role, account, least(token_expires_at, clock_timestamp() + $3::float8 * interval '1 second')
  from taken
  where token_expires_at > clock_timestamp()
  returning athlete_id, role, account, expires_at
)
select begun.athlete_id, begun.role, begun.account, begun.expires_at, found.subject, found.issuer
from begun, found
