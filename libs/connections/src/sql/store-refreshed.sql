-- Only over the answer of an earlier refresh. A later one that was refused meanwhile was refused because of this one.
update connection
set
  status = 'active',
  access_token = $3,
  refresh_token = coalesce($4, refresh_token),
  -- A refresh token that stays is still sealed with the key it had.
  key_version = case when $4::text is null then key_version else $5::integer end,
  expires_at = least(to_timestamp($6::float8), clock_timestamp() + $7::float8 * interval '1 second'),
  token_fence = $2,
  refresh_leased_until = case when refresh_fence = $2 then null else refresh_leased_until end,
  refresh_failed_at = null,
  updated_at = now()
where id = $1 and token_fence < $2
