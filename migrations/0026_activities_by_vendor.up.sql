-- Every vendor with activities has imports, a synchronisation state and counts of its own. Existing rows belong to Strava, which was the only one.

alter table strava_sync rename to activity_sync;
alter table activity_sync rename column last_strava_sync_at to last_sync_at;
alter table activity_sync rename constraint strava_sync_athlete_id_fkey to activity_sync_athlete_id_fkey;
alter table activity_sync
  add column provider text not null default 'strava' constraint activity_sync_provider references vendor (id),
  drop constraint strava_sync_pkey,
  add constraint activity_sync_pkey primary key (athlete_id, provider);
alter table activity_sync alter column provider drop default;

alter table import_jobs
  add column provider text not null default 'strava' constraint import_jobs_provider references vendor (id);
alter table import_jobs alter column provider drop default;
drop index import_jobs_one_unfinished;
create unique index import_jobs_one_unfinished on import_jobs (athlete_id, provider, type)
  where status in ('queued', 'started', 'rate_limited');
drop index import_jobs_one_running;
create unique index import_jobs_one_running on import_jobs (athlete_id, provider) where status = 'started';
drop index import_jobs_last;
create index import_jobs_last on import_jobs (athlete_id, provider, type) where superseded_at is null;

-- An import, a backfill or a purge reads the activities of one vendor, however many the athlete has at others.
drop index activity_detail_pending;
create index activity_detail_pending on activity (athlete_id, provider, start_time desc) where detail_status = 'pending';
drop index activity_photos_pending;
create index activity_photos_pending on activity (athlete_id, provider, start_time desc) where photos_status = 'pending';
drop index activity_fetched_at;
create index activity_fetched_at on activity (provider, coalesce(detail_stored_at, created_at));
drop index ix_activity_stream_backfill_eligible;
create index ix_activity_stream_backfill_eligible on activity (athlete_id, provider, start_time desc)
  where stream_fetch_status in ('pending', 'failed', 'deferred') and external_activity_id is not null;
drop index activity_stream_deferred;
create index activity_stream_deferred on activity (athlete_id, provider, stream_fetch_deferred_until)
  where stream_fetch_status = 'deferred';

-- Calls that the streams of an athlete still take at a vendor, folded from the change rows like the other sums.
create table stream_count_left (
  athlete_id uuid not null,
  provider text not null,
  calls integer not null,
  primary key (athlete_id, provider)
) with (fillfactor = 80);

alter table stream_count_change add column provider text;

create or replace function stream_count_added() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, provider, status, retries, change)
  select
    athlete_id,
    provider,
    stream_fetch_status,
    case when stream_fetch_status = 'failed' then stream_fetch_retry_count else 0 end,
    count(*)
  from changed
  group by 1, 2, 3, 4;
  return null;
end
$$;

create or replace function stream_count_removed() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, provider, status, retries, change)
  select
    athlete_id,
    provider,
    stream_fetch_status,
    case when stream_fetch_status = 'failed' then stream_fetch_retry_count else 0 end,
    -count(*)
  from changed
  group by 1, 2, 3, 4;
  return null;
end
$$;

create or replace function stream_count_moved() returns trigger
language plpgsql
as $$
begin
  insert into stream_count_change (athlete_id, provider, status, retries, change)
  values
    (
      old.athlete_id,
      old.provider,
      old.stream_fetch_status,
      case when old.stream_fetch_status = 'failed' then old.stream_fetch_retry_count else 0 end,
      -1
    ),
    (
      new.athlete_id,
      new.provider,
      new.stream_fetch_status,
      case when new.stream_fetch_status = 'failed' then new.stream_fetch_retry_count else 0 end,
      1
    );
  return null;
end
$$;

create or replace function stream_count_emptied() returns trigger
language plpgsql
as $$
begin
  truncate stream_count_change, stream_count_total, stream_count_athlete, stream_count_left;
  return null;
end
$$;

insert into stream_count_left (athlete_id, provider, calls)
select athlete_id, 'strava', pending + failed - stuck + deferred
from stream_count_athlete
where pending + failed - stuck + deferred <> 0;
update stream_count_change set provider = 'strava';
alter table stream_count_change alter column provider set not null;
