-- Inserts or updates a row per summary. A row whose data was requested later is not changed.
insert into activity (
  athlete_id, provider, asked_at, external_activity_id, name, sport_type, start_time, utc_offset_s, timezone,
  distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate,
  manual, private, total_photo_count, summary_polyline, photos_status, imported_name, stream_fetch_status
)
select
  $1, $19, $2::timestamptz, listed.*,
  case when listed.total_photo_count > 0 then 'pending' else 'none' end,
  listed.name,
  -- A vendor without streams costs no call for them.
  case when $20::boolean then 'pending' else 'unavailable' end
from unnest(
  $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::integer[], $8::text[],
  $9::float8[], $10::integer[], $11::integer[], $12::float8[], $13::float8[], $14::float8[],
  $15::boolean[], $16::boolean[], $17::integer[], $18::text[]
) as listed (
  external_activity_id, name, sport_type, start_time, utc_offset_s, timezone,
  distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate,
  manual, private, total_photo_count, summary_polyline
)
where not exists (
  select 1
  from activity_tombstone
  where activity_tombstone.athlete_id = $1
    and activity_tombstone.provider = $19
    and activity_tombstone.external_activity_id = listed.external_activity_id
    -- A list that was requested after the deletion shows that the activity is back.
    and activity_tombstone.deleted_at >= $2
)
-- All writers use the same order. Otherwise two writers of overlapping pages could deadlock.
order by listed.external_activity_id
on conflict (athlete_id, provider, external_activity_id) do update set
  asked_at = excluded.asked_at,
  name = excluded.name,
  sport_type = excluded.sport_type,
  start_time = excluded.start_time,
  utc_offset_s = excluded.utc_offset_s,
  timezone = excluded.timezone,
  distance_m = excluded.distance_m,
  moving_time_s = excluded.moving_time_s,
  elapsed_time_s = excluded.elapsed_time_s,
  elevation_gain_m = excluded.elevation_gain_m,
  average_heartrate = excluded.average_heartrate,
  max_heartrate = excluded.max_heartrate,
  manual = excluded.manual,
  private = excluded.private,
  total_photo_count = excluded.total_photo_count,
  summary_polyline = excluded.summary_polyline,
  -- After a crop or an edit at the vendor, laps and splits are fetched again. List and detail round differently, so a difference
  -- of a metre or a second is no edit.
  detail_status = case
    when activity.start_time <> excluded.start_time
      or abs(activity.moving_time_s - excluded.moving_time_s) > 1
      or abs(activity.elapsed_time_s - excluded.elapsed_time_s) > 1
      or abs(activity.distance_m - excluded.distance_m) > 1
    then 'pending'
    else activity.detail_status
  end,
  -- Processors read these columns, so the activity is processed again. No processor reads the name.
  input_revision = activity.input_revision + case
    when activity.sport_type <> excluded.sport_type
      or abs(activity.moving_time_s - excluded.moving_time_s) > 1
      or abs(activity.elapsed_time_s - excluded.elapsed_time_s) > 1
      or abs(activity.distance_m - excluded.distance_m) > 1
      or abs(activity.elevation_gain_m - excluded.elevation_gain_m) > 1
    then 1
    else 0
  end,
  photos_status = case
    when excluded.total_photo_count = activity.total_photo_count then activity.photos_status
    else excluded.photos_status
  end,
  photos = case when excluded.total_photo_count = 0 then '[]' else activity.photos end,
  confirm_attempts = 0,
  confirm_after = null,
  updated_at = now()
where activity.asked_at <= excluded.asked_at
