-- A person's request to delete data, and its result. It outlives the athlete, so it has no foreign key.
create table receipt (
  id uuid primary key default gen_random_uuid(),
  athlete_id uuid not null,
  -- Null: the whole account.
  provider text check (provider in ('strava', 'oura', 'whoop')),
  reason text not null check (reason in ('requested', 'deauthorized')),
  deleted jsonb not null default '{}',
  -- The vendors' ids of the deleted accounts, to find records that contain only these ids; emptied when the deletion is done.
  accounts jsonb not null default '{}',
  requested_at timestamptz not null default now(),
  completed_at timestamptz,
  leased_until timestamptz
);

create index receipt_open on receipt (requested_at) where completed_at is null;
create index receipt_athlete on receipt (athlete_id);
