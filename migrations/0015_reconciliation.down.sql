drop table vendor_share;
alter table strava_sync drop column reconcile_failures;
alter table activity
  drop column confirm_after,
  drop column confirm_attempts,
  drop column detail_asked_at;
