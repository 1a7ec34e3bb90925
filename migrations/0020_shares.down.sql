drop table forced_runs;
create index import_jobs_athlete on import_jobs (athlete_id);
drop index import_jobs_newest;
alter table import_jobs drop column reopened_at;
