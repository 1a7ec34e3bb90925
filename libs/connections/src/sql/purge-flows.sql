-- Flows are kept for an hour after they expire, so that a late confirmation gets CONSENT_LAPSED.
-- clock_timestamp() instead of now() would prevent the use of the index.
delete from oauth_flow
where state_hash = any(array(
  select state_hash
  from oauth_flow
  where expires_at < now() - interval '1 hour'
  order by expires_at
  limit $1
))
