-- Every change that a client can see is a row, written in the transaction that makes the change. The triggers below write it, so a
-- statement that changes a table cannot forget it. Imports write their own, since their message is text of the program, and so does the
-- statement that ends runs of processors: a trigger would cost more than the statement.

-- The item of an activity as GET /v1/activities lists it. A row of it is built in a tenth of the time of its JSON, which counts in an import.
create type activity_item as (
  id uuid,
  provider text,
  external_activity_id text,
  name text,
  sport_type text,
  start_time text,
  timezone text,
  distance_m double precision,
  moving_time_s integer,
  elapsed_time_s integer,
  elevation_gain_m double precision,
  average_heartrate double precision,
  manual boolean,
  photos jsonb,
  stream_fetch_status text,
  same_as uuid[]
);

-- The changes of committed transactions that have no place in the log yet. `revision` is taken while the transaction holds the lock of the
-- changed row, so it grows for each subject, also past a deletion and a return.
create table change_outbox (
  revision bigint generated always as identity primary key,
  id uuid not null default gen_random_uuid(),
  type text not null,
  athlete_id uuid not null,
  subject_id text not null,
  occurred_at timestamptz not null default clock_timestamp(),
  activity activity_item,
  -- The item of any other subject as the API answers it. The type is json, because its text is sent as it is.
  data json
)
-- Rows live for a moment. Without early vacuums, reading the first rows would pass over all dead ones.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- The log. A row with a smaller `seq` is never committed later, so a reader who goes on from the last one misses nothing.
-- A deletion blanks rows (type `erased`) and never deletes them, because cursors of other readers point at them.
create table change (
  seq bigint primary key,
  id uuid not null,
  revision bigint not null,
  type text not null,
  athlete_id uuid,
  subject_id text,
  occurred_at timestamptz not null,
  data json,
  -- The sequence of the message in the NATS stream. A deletion needs it.
  published_as bigint
)
-- The second write of a row (`published_as`) finds room on the page of the first, so that no index changes.
with (fillfactor = 85, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

create index change_of_athlete on change (athlete_id, seq);

-- `purged`: the newest change that retention has deleted.
create table change_feed (
  is_only boolean primary key default true check (is_only),
  last_seq bigint not null default 0,
  purged_seq bigint not null default 0,
  purged_id uuid
);

insert into change_feed default values;

-- A time as JavaScript writes it.
create function api_time(at timestamptz) returns text
language sql stable
return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- The athlete's activities of other vendors that are the same workout. libs/activities/src/same-as.ts has the same condition.
create function twins_of(of_athlete uuid, of_provider text, start_time timestamptz, elapsed_time_s integer) returns uuid[]
language sql stable
return array(
  select twin.id
  from activity as twin
  where twin.athlete_id = of_athlete
    and twin.start_time between twins_of.start_time - interval '60 seconds' and twins_of.start_time + interval '60 seconds'
    and twin.provider <> of_provider
    and abs(twin.elapsed_time_s - twins_of.elapsed_time_s) <= 0.05 * greatest(twin.elapsed_time_s, twins_of.elapsed_time_s)
  order by twin.start_time, twin.id
);

-- The item of an activity as it is now; null if the activity is gone.
create function activity_item_of(a uuid) returns activity_item
language sql stable
return (
  select row(
    activity.id, activity.provider, activity.external_activity_id, activity.name, activity.sport_type, api_time(activity.start_time),
    activity.timezone, activity.distance_m, activity.moving_time_s, activity.elapsed_time_s, activity.elevation_gain_m,
    activity.average_heartrate, activity.manual, activity.photos, activity.stream_fetch_status,
    twins_of(activity.athlete_id, activity.provider, activity.start_time, activity.elapsed_time_s)
  )::activity_item
  from activity
  where activity.id = a
);

-- `vendor` or `account` in a transaction that deletes an athlete's data, otherwise empty: `connection.removed` or `athlete.deleted` stands
-- for all its rows.
create function deletion_of() returns text
language sql stable
return coalesce(current_setting('pacekeeper.deletion', true), '');

-- `same_as` of these activities has changed. The sequencer adds their items. Leaves out an activity that another transaction is changing: to
-- wait for it could deadlock two imports of an athlete.
create function announce_twins(twins uuid[]) returns void
language sql volatile
begin atomic
  insert into change_outbox (type, athlete_id, subject_id)
  select 'activity.updated', athlete_id, id
  from activity
  where id = any(twins)
  for share skip locked;
end;

-- Only an athlete with a second vendor can have twins; looking for them costs as much as writing the row.
create function announce_new_activities() returns trigger
language plpgsql as $$
declare
  with_two_vendors uuid[] := array(
    select distinct made.athlete_id
    from made
    join connection on connection.athlete_id = made.athlete_id and connection.provider <> made.provider
  );
begin
  insert into change_outbox (type, athlete_id, subject_id, activity)
  select 'activity.created', made.athlete_id, made.id,
    row(
      made.id, made.provider, made.external_activity_id, made.name, made.sport_type, api_time(made.start_time), made.timezone, made.distance_m,
      made.moving_time_s, made.elapsed_time_s, made.elevation_gain_m, made.average_heartrate, made.manual, made.photos, made.stream_fetch_status,
      case
        when made.athlete_id = any(with_two_vendors)
        then twins_of(made.athlete_id, made.provider, made.start_time, made.elapsed_time_s)
        else '{}'
      end
    )::activity_item
  from made;
  if cardinality(with_two_vendors) > 0 then
    perform announce_twins(array(
      select unnest(twins_of(made.athlete_id, made.provider, made.start_time, made.elapsed_time_s))
      from made
    ));
  end if;
  return null;
end
$$;

create function announce_changed_activities() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id, activity)
  select news.type, fresh.athlete_id, fresh.id,
    row(
      fresh.id, fresh.provider, fresh.external_activity_id, fresh.name, fresh.sport_type, api_time(fresh.start_time), fresh.timezone, fresh.distance_m,
      fresh.moving_time_s, fresh.elapsed_time_s, fresh.elevation_gain_m, fresh.average_heartrate, fresh.manual, fresh.photos, fresh.stream_fetch_status,
      twins_of(fresh.athlete_id, fresh.provider, fresh.start_time, fresh.elapsed_time_s)
    )::activity_item
  from fresh
  join past on past.id = fresh.id
  cross join lateral (
    values
      (
        'activity.updated',
        (
          past.name, past.sport_type, past.start_time, past.timezone, past.distance_m, past.moving_time_s, past.elapsed_time_s,
          past.elevation_gain_m, past.average_heartrate, past.manual, past.photos, past.description, past.laps, past.splits,
          past.polyline, past.summary_polyline
        ) is distinct from (
          fresh.name, fresh.sport_type, fresh.start_time, fresh.timezone, fresh.distance_m, fresh.moving_time_s, fresh.elapsed_time_s,
          fresh.elevation_gain_m, fresh.average_heartrate, fresh.manual, fresh.photos, fresh.description, fresh.laps, fresh.splits,
          fresh.polyline, fresh.summary_polyline
        )
      ),
      ('streams.ready', past.stream_fetch_status <> 'success' and fresh.stream_fetch_status = 'success'),
      ('streams.unavailable', past.stream_fetch_status <> 'unavailable' and fresh.stream_fetch_status = 'unavailable'),
      ('streams.failed', past.stream_fetch_status <> 'failed' and fresh.stream_fetch_status = 'failed')
  ) as news (type, has_happened)
  where news.has_happened;
  return null;
end
$$;

create function announce_deleted_activities() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id)
  select 'activity.deleted', athlete_id, id
  from gone;
  return null;
end
$$;

create function announce_twins_of_deleted() returns trigger
language plpgsql as $$
begin
  perform announce_twins(array(
    select unnest(twins_of(gone.athlete_id, gone.provider, gone.start_time, gone.elapsed_time_s))
    from gone
  ));
  return null;
end
$$;

create trigger activity_created after insert on activity
referencing new table as made
for each statement execute function announce_new_activities();

create trigger activity_changed after update on activity
referencing old table as past new table as fresh
for each statement when (deletion_of() = '') execute function announce_changed_activities();

create trigger activity_deleted after delete on activity
referencing old table as gone
for each statement when (deletion_of() = '') execute function announce_deleted_activities();

-- Also while a vendor's data is deleted: the other vendors' activities stay.
create trigger activity_deleted_twins after delete on activity
referencing old table as gone
for each statement when (deletion_of() <> 'account') execute function announce_twins_of_deleted();

-- A night as GET /v1/sleep lists it.
create function night_item(
  date date, duration_minutes integer, quality_score double precision, vendor text, captured_at timestamptz
) returns json
language sql stable
return json_build_object(
  'date', to_char(date, 'YYYY-MM-DD'),
  'duration_minutes', duration_minutes,
  'quality_score', quality_score,
  'vendor', vendor,
  'captured_at', api_time(captured_at)
);

-- A night belongs to every athlete with that subject.
create function announce_nights() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id, data)
  select
    'sleep.stored', athlete.id, to_char(made.date, 'YYYY-MM-DD'),
    night_item(made.date, made.duration_minutes, made.quality_score, made.vendor, made.captured_at)
  from made
  join athlete on athlete.subject = made.user_id;
  return null;
end
$$;

create function announce_changed_nights() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id, data)
  select
    'sleep.stored', athlete.id, to_char(fresh.date, 'YYYY-MM-DD'),
    night_item(fresh.date, fresh.duration_minutes, fresh.quality_score, fresh.vendor, fresh.captured_at)
  from fresh
  join past using (user_id, date)
  join athlete on athlete.subject = fresh.user_id
  where (past.duration_minutes, past.quality_score, past.vendor, past.captured_at)
    is distinct from (fresh.duration_minutes, fresh.quality_score, fresh.vendor, fresh.captured_at);
  return null;
end
$$;

-- A client may send nights before the athlete's first request.
create function announce_nights_of_new_athlete() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id, data)
  select
    'sleep.stored', new.id, to_char(night.date, 'YYYY-MM-DD'),
    night_item(night.date, night.duration_minutes, night.quality_score, night.vendor, night.captured_at)
  from sleep_data as night
  where night.user_id = new.subject;
  return null;
end
$$;

create function announce_removed_nights() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id)
  select 'sleep.removed', athlete.id, to_char(gone.date, 'YYYY-MM-DD')
  from gone
  join athlete on athlete.subject = gone.user_id;
  return null;
end
$$;

create trigger night_stored after insert on sleep_data
referencing new table as made
for each statement execute function announce_nights();

create trigger night_changed after update on sleep_data
referencing old table as past new table as fresh
for each statement execute function announce_changed_nights();

create trigger athlete_made after insert on athlete
for each row execute function announce_nights_of_new_athlete();

create trigger night_removed after delete on sleep_data
referencing old table as gone
for each statement when (deletion_of() = '') execute function announce_removed_nights();

create function announce_connection() returns trigger
language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into change_outbox (type, athlete_id, subject_id)
    values ('connection.removed', old.athlete_id, old.provider);
    return null;
  end if;
  insert into change_outbox (type, athlete_id, subject_id, data)
  values (
    'connection.' || new.status, new.athlete_id, new.provider,
    json_build_object(
      'provider', new.provider,
      'status', new.status,
      'vendor_athlete_id', new.vendor_athlete_id,
      'scopes', new.scopes,
      'connected_at', api_time(new.connected_at)
    )
  );
  return null;
end
$$;

create trigger connection_made after insert or delete on connection
for each row execute function announce_connection();

create trigger connection_changed after update of status, connected_at, scopes on connection
for each row
when ((old.status, old.connected_at, old.scopes) is distinct from (new.status, new.connected_at, new.scopes))
execute function announce_connection();

create function announce_deleted_athlete() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id)
  values ('athlete.deleted', old.id, old.id);
  return null;
end
$$;

create trigger athlete_deleted after delete on athlete
for each row execute function announce_deleted_athlete();
