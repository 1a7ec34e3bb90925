-- Ends the lease while the fence $2 holds. The next check is due in $3 ms; $4 checks in a row have failed.
update webhook_subscription_keeper
set leased_until = null,
    due_at = clock_timestamp() + $3::float8 * interval '1 millisecond',
    failures = $4
where vendor = $1
  and fence = $2
