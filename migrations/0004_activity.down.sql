drop table import_jobs;
drop table strava_sync;
drop table activity_tombstone;
drop table activity;
