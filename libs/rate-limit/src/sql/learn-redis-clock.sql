-- $2 ms now by Redis' clock. A difference that has changed by less than a second is an effect of the network.
update vendor_budget_epoch
set redis_ahead_ms = $2::float8 - extract(epoch from clock_timestamp())::float8 * 1000
where vendor = $1
  and abs($2::float8 - extract(epoch from clock_timestamp())::float8 * 1000 - redis_ahead_ms) > 1000
