-- Returns no row if the athlete has another account of this vendor connected. Violates connection_one_owner if another athlete has
-- connected the account. A refresh that has already begun has a lower fence and cannot overwrite these tokens.
insert into connection as c (
  athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at
)
values (
  $1, $2, $3, $4, $5, $6, $7,
  coalesce(clock_timestamp() + $9::float8 * interval '1 second', to_timestamp($8::float8))
)
on conflict on constraint connection_one_per_provider do update
set
  scopes = excluded.scopes,
  status = 'active',
  access_token = excluded.access_token,
  refresh_token = excluded.refresh_token,
  key_version = excluded.key_version,
  expires_at = excluded.expires_at,
  refresh_fence = c.refresh_fence + 1,
  token_fence = c.refresh_fence + 1,
  refresh_leased_until = null,
  refresh_failed_at = null,
  connected_at = now(),
  updated_at = now()
where c.vendor_athlete_id = excluded.vendor_athlete_id
returning c.id
