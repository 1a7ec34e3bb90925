-- Records the end of the newest refresh only: an older refresh must not overwrite the state of a newer one.
update connection
set
  status = case when $3::boolean then 'needs_reauth' else status end,
  refresh_failed_at = case when $3::boolean then null else clock_timestamp() end,
  refresh_leased_until = null,
  updated_at = now()
where id = $1 and refresh_fence = $2 and token_fence < $2
