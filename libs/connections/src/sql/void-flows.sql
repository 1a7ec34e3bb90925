-- Ends every consent of the athlete at this vendor, also one whose code is stored, and deletes its secrets.
update oauth_flow
set
  expires_at = least(expires_at, clock_timestamp()),
  used_at = coalesce(used_at, clock_timestamp()),
  code = null,
  verifier = null,
  account = null
where athlete_id = $1 and provider = $2
