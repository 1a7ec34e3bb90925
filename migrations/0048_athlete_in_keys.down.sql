alter table activity_stream drop constraint activity_stream_activity_id_fkey;
alter table activity_state drop constraint activity_state_activity_id_fkey;
alter table jobs drop constraint jobs_activity_id_fkey;
alter table sleep_comparison drop constraint sleep_comparison_connection_id_fkey;
alter table activity drop constraint activity_pkey, add constraint activity_pkey primary key (id);
alter table connection drop constraint connection_pkey, add constraint connection_pkey primary key (id);
alter table import_jobs drop constraint import_jobs_pkey, add constraint import_jobs_pkey primary key (id);
alter table receipt drop constraint receipt_pkey, add constraint receipt_pkey primary key (id);

alter table sleep_comparison
  drop constraint sleep_comparison_pkey,
  drop column athlete_id,
  add constraint sleep_comparison_pkey primary key (connection_id),
  add constraint sleep_comparison_connection_id_fkey
    foreign key (connection_id) references connection (id) on delete cascade;

alter table runs
  drop constraint runs_job_id_fkey,
  drop constraint runs_job_id_attempt_number_key,
  drop constraint runs_pkey,
  drop column athlete_id;
drop index jobs_activity;
drop index jobs_one_unfinished;
alter table jobs
  drop constraint jobs_pkey,
  drop column athlete_id,
  add constraint jobs_pkey primary key (job_id),
  add constraint jobs_activity_id_fkey foreign key (activity_id) references activity (id) on delete cascade;
create unique index jobs_one_unfinished on jobs (activity_id) where finished_at_utc is null;
create index jobs_activity on jobs (activity_id);
alter table runs
  add constraint runs_pkey primary key (run_id),
  add constraint runs_job_id_attempt_number_key unique (job_id, attempt_number),
  add constraint runs_job_id_fkey foreign key (job_id) references jobs (job_id) on delete cascade;

alter table write_back
  drop constraint write_back_activity_id_fkey,
  drop constraint write_back_pkey,
  drop column athlete_id,
  add constraint write_back_pkey primary key (activity_id);
alter table processed_activities
  drop constraint processed_activities_activity_id_fkey,
  drop constraint processed_activities_pkey,
  drop column athlete_id,
  add constraint processed_activities_pkey primary key (activity_id);
alter table activity_state
  drop constraint activity_state_pkey,
  drop column athlete_id,
  add constraint activity_state_pkey primary key (activity_id),
  add constraint activity_state_activity_id_fkey foreign key (activity_id) references activity (id) on delete cascade;
alter table processed_activities
  add constraint processed_activities_activity_id_fkey
    foreign key (activity_id) references activity_state (activity_id) on delete cascade;
alter table write_back
  add constraint write_back_activity_id_fkey
    foreign key (activity_id) references activity_state (activity_id) on delete cascade;

alter table activity_stream
  drop constraint uq_activity_stream_activity_id,
  drop column athlete_id,
  add column id uuid primary key default gen_random_uuid(),
  add constraint uq_activity_stream_activity_id unique (activity_id),
  add constraint activity_stream_activity_id_fkey foreign key (activity_id) references activity (id) on delete cascade;

