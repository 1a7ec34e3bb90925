-- For the lists of all jobs and of cancelled jobs, newest first.
create index jobs_newest on jobs (requested_at_utc desc, job_id desc);
create index jobs_cancelled on jobs (requested_at_utc desc, job_id desc) where status = 'cancelled';

-- A job is superseded when a newer job of its activity is requested. Exception: the job whose run made the current result is not
-- superseded. Superseded jobs are deleted after a while. The index contains only superseded jobs, so a purge reads no other rows.
alter table jobs add column superseded_at_utc timestamptz;
create index jobs_superseded on jobs (superseded_at_utc) where superseded_at_utc is not null;
update jobs
set superseded_at_utc = now()
where finished_at_utc is not null
  and exists (
    select 1
    from jobs newer
    where newer.activity_id = jobs.activity_id
      and (newer.requested_at_utc, newer.job_id) > (jobs.requested_at_utc, jobs.job_id)
  )
  and not exists (
    select 1
    from processed_activities
    join runs using (run_id)
    where processed_activities.activity_id = jobs.activity_id
      and runs.job_id = jobs.job_id
  );

-- An import is superseded by a newer import of the same athlete and type. The last import of an athlete and type stays.
alter table import_jobs add column superseded_at timestamptz;
create index import_jobs_superseded on import_jobs (superseded_at) where superseded_at is not null;
-- The index has the last import of each athlete and type, and unfinished imports. An athlete without an entry has never imported.
create index import_jobs_last on import_jobs (athlete_id, type) where superseded_at is null;
create index import_jobs_unhappy on import_jobs (status) where status in ('failed', 'cancelled');
update import_jobs
set superseded_at = now()
where finished_at is not null
  and exists (
    select 1
    from import_jobs newer
    where newer.athlete_id = import_jobs.athlete_id
      and newer.type = import_jobs.type
      and newer.created_at > import_jobs.created_at
  );

create index operator_action_at on operator_action (at);
create index config_snapshots_created on config_snapshots (created_at_utc);

-- Stored counts of activities by state, because counting takes longer the more activities there are. A transaction that changes an
-- activity inserts a change row, so it never waits for another transaction. Every few seconds a sweep adds the change rows to the sums
-- (libs/streams/src/counts). A count is the stored sum plus the change rows that are not summed yet, so it is always exact.
create table stream_count_change (
  id bigint generated always as identity primary key,
  athlete_id uuid not null,
  status text not null,
  -- Number of failures if the state is `failed`; else 0.
  retries integer not null,
  change integer not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table stream_count_total (
  status text not null,
  retries integer not null,
  activities bigint not null,
  primary key (status, retries)
);

-- `stuck`: failed activities that only a reset tries again.
create table stream_count_athlete (
  athlete_id uuid primary key,
  pending integer not null,
  fetching integer not null,
  success integer not null,
  failed integer not null,
  stuck integer not null,
  deferred integer not null,
  unavailable integer not null,
  waiting integer not null generated always as (pending + fetching + failed + deferred) stored
) with (fillfactor = 80);
create index stream_count_athlete_waiting on stream_count_athlete (waiting desc, athlete_id);

create function stream_count_added() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, status, retries, change)
  select
    athlete_id,
    stream_fetch_status,
    case when stream_fetch_status = 'failed' then stream_fetch_retry_count else 0 end,
    count(*)
  from changed
  group by 1, 2, 3;
  return null;
end
$$;

create function stream_count_removed() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, status, retries, change)
  select
    athlete_id,
    stream_fetch_status,
    case when stream_fetch_status = 'failed' then stream_fetch_retry_count else 0 end,
    -count(*)
  from changed
  group by 1, 2, 3;
  return null;
end
$$;

create function stream_count_moved() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, status, retries, change)
  values
    (
      old.athlete_id,
      old.stream_fetch_status,
      case when old.stream_fetch_status = 'failed' then old.stream_fetch_retry_count else 0 end,
      -1
    ),
    (
      new.athlete_id,
      new.stream_fetch_status,
      case when new.stream_fetch_status = 'failed' then new.stream_fetch_retry_count else 0 end,
      1
    );
  return null;
end
$$;

create function stream_count_emptied() returns trigger
language plpgsql
as $$
begin
  truncate stream_count_change, stream_count_total, stream_count_athlete;
  return null;
end
$$;

create trigger activity_count_added after insert on activity
  referencing new table as changed for each statement execute function stream_count_added();
create trigger activity_count_removed after delete on activity
  referencing old table as changed for each statement execute function stream_count_removed();
create trigger activity_count_moved after update of stream_fetch_status, stream_fetch_retry_count, athlete_id on activity
  for each row
  when (
    old.stream_fetch_status <> new.stream_fetch_status
    or (new.stream_fetch_status = 'failed' and old.stream_fetch_retry_count <> new.stream_fetch_retry_count)
    or old.athlete_id <> new.athlete_id
  )
  execute function stream_count_moved();
create trigger activity_count_emptied after truncate on activity
  for each statement execute function stream_count_emptied();

insert into stream_count_change (athlete_id, status, retries, change)
select
  athlete_id,
  stream_fetch_status,
  case when stream_fetch_status = 'failed' then stream_fetch_retry_count else 0 end,
  count(*)
from activity
group by 1, 2, 3;

-- The counts do not need this index any more. Without it, each claim and each outcome writes one index less.
drop index activity_stream_fetch_counts;
-- Finds the end of an athlete's last deferral.
create index activity_stream_deferred on activity (athlete_id, stream_fetch_deferred_until)
  where stream_fetch_status = 'deferred';
