-- Times when the runtime first and last took up an activity. Only libs/processing writes these two columns.
alter table activity
  add column first_seen_at timestamptz,
  add column last_seen_at timestamptz,
  add constraint activity_seen check (first_seen_at <= last_seen_at and (first_seen_at is null) = (last_seen_at is null));

-- A request to process an activity.
create table jobs (
  job_id uuid primary key default gen_random_uuid(),
  activity_id uuid not null references activity (id) on delete cascade,
  request_kind text not null check (request_kind in ('auto_poll', 'manual_latest', 'manual_activity')),
  requested_by text not null,
  force_update boolean not null default false,
  -- Higher values run first.
  priority integer not null default 0,
  status text not null default 'queued',
  -- Counted at the claim, so that a run that kills its worker counts too.
  attempt_count integer not null default 0,
  max_attempts integer not null,
  requested_at_utc timestamptz not null default now(),
  available_at_utc timestamptz not null default now(),
  lease_owner text,
  lease_expires_at_utc timestamptz,
  started_at_utc timestamptz,
  finished_at_utc timestamptz,
  -- Every claim makes a new run_id. It is the fence of all writes of the run.
  run_id uuid,
  last_error text,
  last_result_json jsonb,
  updated_at_utc timestamptz not null default now(),
  constraint jobs_status
    check (status in ('queued', 'claimed', 'running', 'retry_wait', 'succeeded', 'failed_permanent', 'cancelled')),
  constraint jobs_finished
    check ((status in ('succeeded', 'failed_permanent', 'cancelled')) = (finished_at_utc is not null)),
  constraint jobs_leased
    check (
      (status in ('claimed', 'running')) = (lease_owner is not null)
      and (lease_owner is null) = (lease_expires_at_utc is null)
    ),
  constraint jobs_run check (run_id is not null or status not in ('claimed', 'running')),
  constraint jobs_started check (started_at_utc is not null or status <> 'running'),
  constraint jobs_attempts check (attempt_count between 0 and max_attempts),
  constraint jobs_queued check (status <> 'queued' or attempt_count < max_attempts)
) with (
  -- A job is written four times. The fill factor leaves room on its page for the later versions. Autovacuum removes dead versions
  -- early, because a claim would otherwise read through the dead versions in the index.
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0
);

-- Claimable jobs, in the order of claiming. The due time is in the index so that jobs that are not due are skipped there.
create index jobs_claimable on jobs (priority desc, requested_at_utc, available_at_utc)
  where status in ('queued', 'retry_wait');
-- The condition does not name the status, because a lease implies it. With `status = 'running'` Postgres would expect few rows in this
-- index and would use it instead of the primary key to find one job. It would then read all running jobs with their dead rows.
create index jobs_leased on jobs (lease_expires_at_utc) where lease_expires_at_utc is not null;
create unique index jobs_one_unfinished on jobs (activity_id) where finished_at_utc is null;
create index jobs_activity on jobs (activity_id);

-- One attempt at a job.
create table runs (
  run_id uuid primary key,
  job_id uuid not null references jobs (job_id) on delete cascade,
  -- No foreign key to the activity. The check of the key would wait for a transaction that deletes the activity, and that transaction
  -- waits for our job: a deadlock.
  activity_id uuid not null,
  attempt_number integer not null,
  worker_owner text not null,
  -- The subset of a job's statuses that a run can have.
  status text not null default 'running'
    check (status in ('running', 'retry_wait', 'succeeded', 'failed_permanent', 'cancelled')),
  started_at_utc timestamptz not null default now(),
  finished_at_utc timestamptz,
  error text,
  result_json jsonb,
  updated_at_utc timestamptz not null default now(),
  check ((status = 'running') = (finished_at_utc is null)),
  unique (job_id, attempt_number)
) with (fillfactor = 80);

-- Processing state of each activity. The row is made with the first job, while the activity is locked anyway.
create table activity_state (
  activity_id uuid primary key references activity (id) on delete cascade,
  state text not null
    check (state in ('queued', 'claimed', 'running', 'retry_wait', 'succeeded', 'failed_permanent', 'cancelled')),
  last_job_id uuid,
  last_run_id uuid,
  last_profile_id text,
  last_title text,
  last_description_hash text,
  last_result_status text,
  last_error text,
  updated_at_utc timestamptz not null default now()
) with (fillfactor = 80);

-- Activities that have been processed; only a forced request processes them again. No foreign key to the activity: see `runs`.
create table processed_activities (
  activity_id uuid primary key references activity_state (activity_id) on delete cascade,
  run_id uuid not null,
  processed_at_utc timestamptz not null default now()
);

-- Settings of the runtime, and since when they apply.
create table config_snapshots (
  snapshot_id bigint generated always as identity primary key,
  source text not null,
  payload_json jsonb not null,
  created_at_utc timestamptz not null default clock_timestamp()
);

create index config_snapshots_source on config_snapshots (source, snapshot_id desc);

-- Allows only the transitions that docs/job-lifecycle.md shows.
create function jobs_move() returns trigger
language plpgsql
as $$
declare
  move constant text := old.status || ' to ' || new.status;
  is_new_run constant boolean := new.run_id is distinct from old.run_id;
begin
  case move
    when 'queued to claimed', 'retry_wait to claimed' then
      if is_new_run and new.attempt_count = old.attempt_count + 1 then return new; end if;
      raise exception 'a claim is a new run and counts as an attempt' using errcode = 'check_violation';
    when
      'claimed to running', 'claimed to queued', 'claimed to failed_permanent',
      'running to succeeded', 'running to retry_wait', 'running to failed_permanent', 'running to queued',
      'retry_wait to failed_permanent',
      'queued to cancelled', 'claimed to cancelled', 'running to cancelled', 'retry_wait to cancelled'
    then
      if not is_new_run then return new; end if;
    else
      if old.status <> new.status then
        raise exception 'jobs.status: no way from %', move using errcode = 'check_violation';
      end if;
  end case;
  raise exception 'only a claim makes a new run' using errcode = 'check_violation';
end
$$;

create trigger jobs_move before update of status, run_id on jobs
  for each row
  when (old.status <> new.status or old.run_id is distinct from new.run_id)
  execute function jobs_move();
