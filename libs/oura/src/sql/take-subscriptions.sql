-- One worker at a time sees to them: two would both find one missing, and what Oura makes of a second one is not documented.
insert into oura_subscription_lease (only_one, leased_until, holder)
values (true, clock_timestamp() + $1 * interval '1 millisecond', $2)
on conflict (only_one) do update
set leased_until = excluded.leased_until, holder = excluded.holder
where oura_subscription_lease.leased_until <= clock_timestamp()
