-- Overwrites only the tokens of an earlier refresh. Sets the status to active, also after a later refresh was refused: the
-- vendor refused the later refresh because this refresh had already used the refresh token.
update connection
set
  status = 'active',
  access_token = $3,
  refresh_token = coalesce($4, refresh_token),
  -- Without a new refresh token the old one stays, encrypted with its old key.
  key_version = case when $4::text is null then key_version else $5::integer end,
  expires_at = coalesce(clock_timestamp() + $7::float8 * interval '1 second', to_timestamp($6::float8)),
  token_fence = $2,
  refresh_leased_until = case when refresh_fence = $2 then null else refresh_leased_until end,
  refresh_failed_at = null,
  updated_at = now()
where id = $1 and token_fence < $2
