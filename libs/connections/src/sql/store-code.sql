-- Updates only a row that no callback has updated before (confirm_hash is null), so that a state works once. A code that arrives after the
-- state's ten minutes is not stored.
update oauth_flow f
set
  code = case when f.expires_at > clock_timestamp() then $3 end,
  scope = $4,
  confirm_hash = $5,
  browser_hash = $6,
  confirm_until = case when f.expires_at > clock_timestamp() then clock_timestamp() + interval '10 minutes' else f.expires_at end
from athlete a
where f.state_hash = $1 and f.provider = $2 and f.confirm_hash is null and a.id = f.athlete_id
returning f.return_url, coalesce(f.account, a.subject) as account, f.code is not null as is_live
