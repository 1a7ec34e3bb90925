-- The functions as 0032 made them.
create or replace function announce_changed_activities() returns trigger
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

create or replace function activity_item_of(a uuid) returns activity_item
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

drop function item_of;
