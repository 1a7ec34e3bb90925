-- $2 the limits that an answer reports, by counter name; $3 the epoch of the answered call.
-- The answer to a call of an older epoch is stored only if it lowers a limit or reports a limit that is not stored yet.
-- Such an answer may be older than the stored limits, so an answer that only raises limits is dropped.
update vendor_budget_epoch
set limits = limits || $2::jsonb,
    epoch = epoch + 1
where vendor = $1
  and not limits @> $2::jsonb
  and (
    epoch = $3::bigint
    or exists (
      select 1
      from jsonb_each_text($2::jsonb) as told (name, value)
      where told.value::bigint < coalesce((limits ->> told.name)::bigint, told.value::bigint + 1)
    )
  )
