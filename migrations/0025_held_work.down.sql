-- A held row stays held: the time of the next attempt is the end of the lease again.
update strava_sync
set reconcile_after = greatest(reconcile_after, leased_until)
where leased_until is not null;
update sleep_comparison
set next_at = greatest(next_at, leased_until)
where leased_until is not null;
update revocation
set next_attempt_at = greatest(next_attempt_at, leased_until)
where leased_until is not null;

alter table strava_sync
  drop column leased_until,
  drop column fence;
alter table sleep_comparison
  drop column leased_until,
  drop column fence;
alter table revocation
  drop column leased_until,
  drop column fence;
alter table dead_letter_order drop column fence;
alter table receipt drop column fence;
alter table import_jobs rename column fence to turn;
drop function lease_end(double precision);
drop function is_free(timestamptz);
