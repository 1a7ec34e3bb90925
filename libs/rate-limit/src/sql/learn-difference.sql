-- $2 the clock of Redis minus the vendor's in ms, at least; $3 at most. A new difference begins a new epoch, because near a boundary other
-- counters are needed.
update vendor_budget_epoch
set vendor_difference_least_ms = $2,
    vendor_difference_most_ms = $3,
    epoch = epoch + 1
where vendor = $1
  and (vendor_difference_least_ms, vendor_difference_most_ms) is distinct from ($2::float8, $3::float8)
