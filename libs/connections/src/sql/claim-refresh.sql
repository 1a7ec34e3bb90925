-- Claims the refresh. Returns no row in three cases: another process holds the lease, the tokens have changed since the caller read them
-- ($2), or a refresh ended without a clear answer less than $4 ms ago. An end in the future was written before this server's clock was set
-- back, and counts as long ago.
update connection
set
  refresh_fence = refresh_fence + 1,
  refresh_leased_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
where
  id = $1
  and token_fence = $2
  and status = 'active'
  and (refresh_leased_until is null or refresh_leased_until <= clock_timestamp())
  and (
    refresh_failed_at is null
    or refresh_failed_at <= clock_timestamp() - $4::float8 * interval '1 millisecond'
    or refresh_failed_at > clock_timestamp()
  )
returning refresh_fence, refresh_token
