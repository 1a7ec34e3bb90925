alter table sleep_comparison
  drop column reconcile_failures,
  drop column postponed_at;
alter table activity_sync drop column postponed_at;
alter table activity_stream alter column source set default 'strava';
alter table activity alter column provider set default 'strava';
