-- Claims the due subscriptions of a vendor with a lease of $2 ms. Two workers at the same time could both create a missing subscription. $3:
-- also if they are not due yet.
insert into webhook_subscription_keeper as keeper (vendor, fence, leased_until)
values ($1, 1, lease_end($2))
on conflict (vendor) do update
set fence = keeper.fence + 1,
    leased_until = excluded.leased_until
where is_free(keeper.leased_until)
  and (keeper.due_at <= now() or $3)
returning vendor, fence, failures, clock_timestamp() as claimed_at
