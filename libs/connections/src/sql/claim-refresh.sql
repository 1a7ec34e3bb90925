-- One at a time, only while the tokens are those that were found to be too old, and not just after a vendor was silent.
update connection
set
  refresh_fence = refresh_fence + 1,
  refresh_leased_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
where
  id = $1
  and token_fence = $2
  and status = 'active'
  and (refresh_leased_until is null or refresh_leased_until <= clock_timestamp())
  and (refresh_failed_at is null or refresh_failed_at <= clock_timestamp() - $4::float8 * interval '1 millisecond')
returning refresh_fence, refresh_token
