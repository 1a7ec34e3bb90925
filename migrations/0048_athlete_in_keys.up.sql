-- Tables of an athlete's activities and connections carry the athlete in each primary, unique and foreign key, so that a database can be
-- distributed by athlete (docs/scaling.md). The athlete is the last column of each index: a row is still found by its id alone, and with
-- statistics that do not know a new athlete Postgres cannot prefer an index that begins with the athlete and then read all of their rows.
-- Each statement here reads its table once; large values (bodies, results) are not rewritten.

alter table activity_stream add column athlete_id uuid;
alter table activity_state add column athlete_id uuid;
alter table processed_activities add column athlete_id uuid;
alter table write_back add column athlete_id uuid;
alter table jobs add column athlete_id uuid;
alter table runs add column athlete_id uuid;
alter table sleep_comparison add column athlete_id uuid;

update activity_stream set athlete_id = activity.athlete_id from activity where activity.id = activity_id;
update activity_state set athlete_id = activity.athlete_id from activity where activity.id = activity_id;
update processed_activities set athlete_id = activity.athlete_id from activity where activity.id = activity_id;
update write_back set athlete_id = activity.athlete_id from activity where activity.id = activity_id;
update jobs set athlete_id = activity.athlete_id from activity where activity.id = activity_id;
update runs set athlete_id = jobs.athlete_id from jobs where jobs.job_id = runs.job_id;
update sleep_comparison set athlete_id = connection.athlete_id from connection where connection.id = connection_id;

alter table activity_stream drop constraint activity_stream_activity_id_fkey;
alter table activity_state drop constraint activity_state_activity_id_fkey;
alter table jobs drop constraint jobs_activity_id_fkey;
alter table sleep_comparison drop constraint sleep_comparison_connection_id_fkey;
alter table activity drop constraint activity_pkey, add constraint activity_pkey primary key (id, athlete_id);
alter table connection drop constraint connection_pkey, add constraint connection_pkey primary key (id, athlete_id);
alter table import_jobs drop constraint import_jobs_pkey, add constraint import_jobs_pkey primary key (id, athlete_id);
alter table receipt drop constraint receipt_pkey, add constraint receipt_pkey primary key (id, athlete_id);

-- The activity named the row before, too. Nothing has read the row's own id.
alter table activity_stream
  drop constraint uq_activity_stream_activity_id,
  drop column id,
  alter column athlete_id set not null,
  add constraint uq_activity_stream_activity_id primary key (activity_id, athlete_id),
  add constraint activity_stream_activity_id_fkey
    foreign key (activity_id, athlete_id) references activity (id, athlete_id) on delete cascade;

alter table processed_activities drop constraint processed_activities_activity_id_fkey;
alter table write_back drop constraint write_back_activity_id_fkey;
alter table activity_state
  drop constraint activity_state_pkey,
  alter column athlete_id set not null,
  add constraint activity_state_pkey primary key (activity_id, athlete_id),
  add constraint activity_state_activity_id_fkey
    foreign key (activity_id, athlete_id) references activity (id, athlete_id) on delete cascade;
alter table processed_activities
  drop constraint processed_activities_pkey,
  alter column athlete_id set not null,
  add constraint processed_activities_pkey primary key (activity_id, athlete_id),
  add constraint processed_activities_activity_id_fkey
    foreign key (activity_id, athlete_id) references activity_state (activity_id, athlete_id) on delete cascade;
alter table write_back
  drop constraint write_back_pkey,
  alter column athlete_id set not null,
  add constraint write_back_pkey primary key (activity_id, athlete_id),
  add constraint write_back_activity_id_fkey
    foreign key (activity_id, athlete_id) references activity_state (activity_id, athlete_id) on delete cascade;

alter table runs
  drop constraint runs_job_id_fkey,
  drop constraint runs_job_id_attempt_number_key,
  drop constraint runs_pkey;
alter table jobs
  drop constraint jobs_pkey,
  alter column athlete_id set not null,
  add constraint jobs_pkey primary key (job_id, athlete_id),
  add constraint jobs_activity_id_fkey
    foreign key (activity_id, athlete_id) references activity (id, athlete_id) on delete cascade;
drop index jobs_one_unfinished;
create unique index jobs_one_unfinished on jobs (activity_id, athlete_id) where finished_at_utc is null;
drop index jobs_activity;
create index jobs_activity on jobs (activity_id, athlete_id);
-- Still no foreign key to the activity: see 0010.
alter table runs
  alter column athlete_id set not null,
  add constraint runs_pkey primary key (run_id, athlete_id),
  add constraint runs_job_id_attempt_number_key unique (job_id, attempt_number, athlete_id),
  add constraint runs_job_id_fkey foreign key (job_id, athlete_id) references jobs (job_id, athlete_id) on delete cascade;

alter table sleep_comparison
  drop constraint sleep_comparison_pkey,
  alter column athlete_id set not null,
  add constraint sleep_comparison_pkey primary key (connection_id, athlete_id),
  add constraint sleep_comparison_connection_id_fkey
    foreign key (connection_id, athlete_id) references connection (id, athlete_id) on delete cascade;
