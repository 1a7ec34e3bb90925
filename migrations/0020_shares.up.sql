-- Time when this import made set-aside items due again. Null if the import did not do so.
alter table import_jobs add column reopened_at timestamptz;

-- For an athlete's list of imports, newest first. Also for the check of the last import before a new import begins.
create index import_jobs_newest on import_jobs (athlete_id, created_at desc, id desc);
drop index import_jobs_athlete;

-- Number of runs that an athlete has forced since the window began. The number has no meaning once the window is over.
create table forced_runs (
  athlete_id uuid primary key references athlete (id) on delete cascade,
  began_at timestamptz not null,
  runs integer not null
);
