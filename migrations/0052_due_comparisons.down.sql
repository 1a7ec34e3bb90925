drop index connection_newest;
drop trigger connection_awaits_comparison on connection;
drop function await_sleep_comparison;
drop index sleep_comparison_due;
-- Before, a connection that had not been reconciled had no row, and `next_at` was only the end of a pause.
delete from sleep_comparison where compared_at is null and begun_at is null and postponed_at is null;
update sleep_comparison set next_at = now() where begun_at is null and reconcile_failures = 0;
comment on column sleep_comparison.next_at is null;
alter table sleep_comparison drop column provider;
