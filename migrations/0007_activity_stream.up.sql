-- The streams of an activity, recorded second by second: one row with all its channels.
create table activity_stream (
  id uuid primary key default gen_random_uuid(),
  activity_id uuid not null references activity (id) on delete cascade,
  -- {"time": [0, 1, …], "heartrate": [140, 141, …]}
  stream_data jsonb not null,
  channels_available jsonb not null default '[]',
  point_count integer not null,
  source text not null default 'strava',
  fetched_at timestamptz not null default now(),
  -- The response body, gzipped once when it is stored, and its version.
  body bytea not null,
  etag text not null,
  constraint uq_activity_stream_activity_id unique (activity_id)
);

-- Postgres stores `body` outside of the row and does not compress it again. Readers of the other columns do not load it.
alter table activity_stream alter column body set storage external;

alter table activity
  add column stream_fetch_status text not null default 'pending',
  add column stream_fetch_attempted_at timestamptz,
  add column stream_fetch_error text,
  add column stream_fetch_retry_count integer not null default 0,
  add column stream_fetch_deferred_until timestamptz,
  -- Number of fetches that found a fresh upload without streams.
  add column stream_fetch_empty_count integer not null default 0,
  -- Rises with every claim, cleanup and reset. A worker that writes with an older number has lost the activity to another.
  add column stream_fetch_fence bigint not null default 0,
  add constraint activity_stream_fetch_status
    check (stream_fetch_status in ('pending', 'fetching', 'success', 'failed', 'deferred', 'unavailable')),
  add constraint activity_stream_fetch_deferred
    check (stream_fetch_status <> 'deferred' or stream_fetch_deferred_until is not null),
  add constraint activity_stream_fetch_fetching
    check (stream_fetch_status <> 'fetching' or stream_fetch_attempted_at is not null);

update activity set stream_fetch_status = 'unavailable' where manual or external_activity_id is null;

create index ix_activity_stream_backfill_eligible on activity (start_time)
  where stream_fetch_status in ('pending', 'failed', 'deferred') and external_activity_id is not null;
create index ix_activity_stream_backfill_athlete on activity (athlete_id, start_time desc)
  where stream_fetch_status in ('pending', 'failed', 'deferred') and external_activity_id is not null;
create index activity_stream_fetching on activity (stream_fetch_attempted_at) where stream_fetch_status = 'fetching';
create index activity_stream_fetch_counts on activity (athlete_id, stream_fetch_status);

-- When the next attempt may begin. Null means never. Claims, the backfill, its sweep and the reader all use this function.
create function stream_fetch_due_at(
  status text,
  attempted_at timestamptz,
  retry_count integer,
  deferred_until timestamptz,
  most_attempts integer,
  retry_after_ms double precision[]
) returns timestamptz
language sql stable
as $$
  select case
    when status = 'pending' then '-infinity'
    when status = 'deferred' then deferred_until
    when status = 'failed' and retry_count < most_attempts then
      attempted_at + retry_after_ms[least(retry_count, cardinality(retry_after_ms))] * interval '1 millisecond'
  end
$$;

-- A manual entry has no streams, and an activity without the vendor's id is unknown to the vendor. Neither costs a call.
create function stream_fetch_begins() returns trigger
language plpgsql
as $$
begin
  new.stream_fetch_status := 'unavailable';
  return new;
end
$$;

create trigger activity_stream_fetch_begins before insert on activity
  for each row when (new.manual or new.external_activity_id is null) execute function stream_fetch_begins();

-- Allows only the transitions that docs/stream-lifecycle.md shows.
create function stream_fetch_moves() returns trigger
language plpgsql
as $$
declare
  move constant text := old.stream_fetch_status || ' to ' || new.stream_fetch_status;
  is_new_hand constant boolean := new.stream_fetch_fence > old.stream_fetch_fence;
begin
  if new.stream_fetch_fence < old.stream_fetch_fence then
    raise exception 'the fence of a stream fetch never falls' using errcode = 'check_violation';
  end if;
  case move
    when 'pending to fetching', 'failed to fetching', 'deferred to fetching' then
      if is_new_hand then return new; end if;
    when 'fetching to success', 'fetching to failed', 'fetching to deferred', 'fetching to unavailable' then
      return new;
    -- Only an operator's reset sets the state to `pending` again.
    when 'fetching to pending', 'success to pending', 'failed to pending', 'deferred to pending', 'unavailable to pending' then
      if is_new_hand then return new; end if;
    else
      raise exception 'stream_fetch_status: no way from %', move using errcode = 'check_violation';
  end case;
  raise exception 'stream_fetch_status: % needs a new fence', move using errcode = 'check_violation';
end
$$;

create trigger activity_stream_fetch_moves before update of stream_fetch_status, stream_fetch_fence on activity
  for each row
  when (old.stream_fetch_status <> new.stream_fetch_status or old.stream_fetch_fence > new.stream_fetch_fence)
  execute function stream_fetch_moves();
