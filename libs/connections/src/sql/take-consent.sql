-- Marks the consent as used in the statement that finds it, so that only one of two confirmations finds it unused. $3 is the athlete who
-- confirms, $4 the hash of the cookie of the browser that confirms; one of them is null. $5 is the service key or the
-- operator that confirms for the athlete: only the one that began may confirm.
with found as (
  select state_hash, athlete_id, verifier, code, scope, used_at, confirm_until
  from oauth_flow
  where
    provider = $1
    and confirm_hash = $2
    and ((athlete_id = $3::uuid and begun_by is not distinct from $5) or browser_hash = $4::bytea)
  for update
),
used as (
  update oauth_flow f
  set used_at = coalesce(f.used_at, clock_timestamp()), code = null, verifier = null, account = null
  from found
  where f.state_hash = found.state_hash
)
select
  state_hash, athlete_id, verifier, code, scope,
  used_at is null and code is not null and confirm_until > clock_timestamp() as is_live
from found
