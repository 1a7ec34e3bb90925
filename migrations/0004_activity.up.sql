-- An activity of an athlete. A row is made from a summary and completed by its detail and its photos, each fetched once.
create table activity (
  id uuid primary key default gen_random_uuid(),
  athlete_id uuid not null references athlete (id) on delete cascade,
  provider text not null default 'strava' check (provider in ('strava')),
  external_activity_id text,
  name text not null,
  sport_type text not null,
  start_time timestamptz not null,
  utc_offset_s integer,
  timezone text,
  distance_m double precision not null,
  moving_time_s integer not null,
  elapsed_time_s integer not null,
  elevation_gain_m double precision not null,
  average_heartrate double precision,
  max_heartrate double precision,
  manual boolean not null,
  private boolean not null,
  total_photo_count integer not null,
  summary_polyline text,
  -- Time of the request to the vendor. The answer to a later request wins, whichever answer arrives first.
  asked_at timestamptz not null,

  detail_status text not null default 'pending' check (detail_status in ('pending', 'stored', 'set_aside')),
  detail_attempts integer not null default 0,
  detail_retry_at timestamptz,
  detail_error text,
  detail_stored_at timestamptz,
  description text,
  calories double precision,
  polyline text,
  laps jsonb,
  splits jsonb,

  photos_status text not null default 'none' check (photos_status in ('none', 'pending', 'stored', 'set_aside')),
  photos_attempts integer not null default 0,
  photos_retry_at timestamptz,
  photos_error text,
  photos jsonb not null default '[]',

  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint activity_external unique (athlete_id, provider, external_activity_id),
  check (detail_status <> 'stored' or detail_stored_at is not null)
);

create index activity_newest on activity (athlete_id, start_time desc, id desc);
create index activity_detail_pending on activity (athlete_id, start_time desc) where detail_status = 'pending';
create index activity_photos_pending on activity (athlete_id, start_time desc) where photos_status = 'pending';
create index activity_fetched_at on activity (coalesce(detail_stored_at, created_at));

-- An activity deleted at the vendor. A list page requested before the deletion must not bring the activity back.
create table activity_tombstone (
  athlete_id uuid not null references athlete (id) on delete cascade,
  provider text not null,
  external_activity_id text not null,
  deleted_at timestamptz not null,
  primary key (athlete_id, provider, external_activity_id)
);

-- State of the synchronisation of one athlete with Strava.
create table strava_sync (
  athlete_id uuid primary key references athlete (id) on delete cascade,
  last_strava_sync_at timestamptz,
  reconciled_at timestamptz,
  whole_history_reconciled_at timestamptz,
  reconcile_after timestamptz,
  -- Position of a reconciliation that has not ended.
  reconcile_progress jsonb
);

create table import_jobs (
  id uuid primary key default gen_random_uuid(),
  athlete_id uuid not null references athlete (id) on delete cascade,
  type text not null check (type in ('full', 'incremental')),
  status text not null default 'queued'
    check (status in ('queued', 'started', 'rate_limited', 'completed', 'failed', 'cancelled')),
  since timestamptz,
  sync_cursor jsonb not null,
  activities_total integer,
  retry_after timestamptz,
  error text,
  -- Numbers of consecutive pauses. `failures` counts the pauses after a vendor's failure, `accidents` those after a failure of ours.
  failures integer not null default 0,
  accidents integer not null default 0,
  -- The fence: rises with every claim. A worker whose lease ended writes with an older number, and the write is rejected.
  turn bigint not null default 0,
  leased_until timestamptz,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now(),
  check ((status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  check (status <> 'rate_limited' or retry_after is not null)
);

create unique index import_jobs_one_unfinished on import_jobs (athlete_id, type)
  where status in ('queued', 'started', 'rate_limited');
create unique index import_jobs_one_running on import_jobs (athlete_id) where status = 'started';
create index import_jobs_unfinished on import_jobs (created_at) where status in ('queued', 'started', 'rate_limited');
create index import_jobs_athlete on import_jobs (athlete_id);
