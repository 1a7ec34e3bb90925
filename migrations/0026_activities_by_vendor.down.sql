-- Only Strava's rows fit the older tables: the imports and the synchronisation states of other vendors are deleted.
delete from import_jobs where provider <> 'strava';
delete from activity_sync where provider <> 'strava';

create or replace function stream_count_added() returns trigger
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

create or replace function stream_count_removed() returns trigger
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

create or replace function stream_count_moved() returns trigger
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

create or replace function stream_count_emptied() returns trigger
language plpgsql
as $$
begin
  truncate stream_count_change, stream_count_total, stream_count_athlete;
  return null;
end
$$;

alter table stream_count_change drop column provider;
drop table stream_count_left;

drop index activity_stream_deferred;
create index activity_stream_deferred on activity (athlete_id, stream_fetch_deferred_until)
  where stream_fetch_status = 'deferred';
drop index ix_activity_stream_backfill_eligible;
create index ix_activity_stream_backfill_eligible on activity (athlete_id, start_time desc)
  where stream_fetch_status in ('pending', 'failed', 'deferred') and external_activity_id is not null;
drop index activity_fetched_at;
create index activity_fetched_at on activity (coalesce(detail_stored_at, created_at));
drop index activity_photos_pending;
create index activity_photos_pending on activity (athlete_id, start_time desc) where photos_status = 'pending';
drop index activity_detail_pending;
create index activity_detail_pending on activity (athlete_id, start_time desc) where detail_status = 'pending';

drop index import_jobs_last;
drop index import_jobs_one_running;
drop index import_jobs_one_unfinished;
alter table import_jobs drop column provider;
create unique index import_jobs_one_unfinished on import_jobs (athlete_id, type)
  where status in ('queued', 'started', 'rate_limited');
create unique index import_jobs_one_running on import_jobs (athlete_id) where status = 'started';
create index import_jobs_last on import_jobs (athlete_id, type) where superseded_at is null;

alter table activity_sync
  drop constraint activity_sync_pkey,
  drop column provider,
  add constraint strava_sync_pkey primary key (athlete_id);
alter table activity_sync rename constraint activity_sync_athlete_id_fkey to strava_sync_athlete_id_fkey;
alter table activity_sync rename column last_sync_at to last_strava_sync_at;
alter table activity_sync rename to strava_sync;
