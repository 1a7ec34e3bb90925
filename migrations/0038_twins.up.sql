-- The item of an activity; `same_as` is given, since a caller may know that there is none. Postgres writes the body into each statement that
-- calls it, so that no copy of the whole row is made.
create function item_of(a activity, same_as uuid[]) returns activity_item
language sql stable
return row(
  a.id, a.provider, a.external_activity_id, a.name, a.sport_type, api_time(a.start_time), a.timezone, a.distance_m, a.moving_time_s,
  a.elapsed_time_s, a.elevation_gain_m, a.average_heartrate, a.manual, a.photos, a.stream_fetch_status, same_as
)::activity_item;

create or replace function activity_item_of(a uuid) returns activity_item
language sql stable
return (
  select item_of(activity, twins_of(activity.athlete_id, activity.provider, activity.start_time, activity.elapsed_time_s))
  from activity
  where activity.id = a
);

create or replace function announce_new_activities() returns trigger
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
    item_of(made::activity, case
      when made.athlete_id = any(with_two_vendors)
      then twins_of(made.athlete_id, made.provider, made.start_time, made.elapsed_time_s)
      else '{}'
    end)
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

-- A start or a duration that moves an activity away from its twins, or to new ones, changes `same_as` of those, too.
-- A full join finds the same pairs as an inner one, and cannot be planned as nested loops: Postgres keeps the plan of a session's first update,
-- mostly of no row, and would compare each pair of 200 rows (5 of 20 ms). `except` needs no join.
create or replace function announce_changed_activities() returns trigger
language plpgsql as $$
begin
  insert into change_outbox (type, athlete_id, subject_id, activity)
  select news.type, fresh.athlete_id, fresh.id,
    item_of(fresh::activity, twins_of(fresh.athlete_id, fresh.provider, fresh.start_time, fresh.elapsed_time_s))
  from fresh
  full join past on past.id = fresh.id
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
  perform announce_twins(array(
    select twin
    from (
      (select id, athlete_id, provider, start_time, elapsed_time_s from past
       except select id, athlete_id, provider, start_time, elapsed_time_s from fresh)
      union all
      (select id, athlete_id, provider, start_time, elapsed_time_s from fresh
       except select id, athlete_id, provider, start_time, elapsed_time_s from past)
    ) as moved
    cross join unnest(twins_of(moved.athlete_id, moved.provider, moved.start_time, moved.elapsed_time_s)) as twin
    -- A twin before and after has the same `same_as`.
    group by moved.id, twin
    having count(*) = 1
  ));
  return null;
end
$$;
