-- One row per summary: new, or brought up to date where the vendor was asked later than for what we have.
insert into activity (
  athlete_id, asked_at, external_activity_id, name, sport_type, start_time, utc_offset_s, timezone,
  distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate,
  manual, private, total_photo_count, summary_polyline, photos_status, imported_name
)
select
  $1, $2::timestamptz, told.*,
  case when told.total_photo_count > 0 then 'pending' else 'none' end,
  told.name
from unnest(
  $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::integer[], $8::text[],
  $9::float8[], $10::integer[], $11::integer[], $12::float8[], $13::float8[], $14::float8[],
  $15::boolean[], $16::boolean[], $17::integer[], $18::text[]
) as told (
  external_activity_id, name, sport_type, start_time, utc_offset_s, timezone,
  distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, average_heartrate, max_heartrate,
  manual, private, total_photo_count, summary_polyline
)
where not exists (
  select 1
  from activity_tombstone
  where activity_tombstone.athlete_id = $1
    and activity_tombstone.provider = 'strava'
    and activity_tombstone.external_activity_id = told.external_activity_id
)
-- The same order for everybody: two writers of overlapping pages must not wait for each other.
order by told.external_activity_id
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
  -- Cropped or edited at the vendor: laps and splits are fetched anew.
  detail_status = case
    when (activity.start_time, activity.moving_time_s, activity.elapsed_time_s, activity.distance_m)
      is distinct from (excluded.start_time, excluded.moving_time_s, excluded.elapsed_time_s, excluded.distance_m)
    then 'pending'
    else activity.detail_status
  end,
  photos_status = case
    when excluded.total_photo_count = activity.total_photo_count then activity.photos_status
    else excluded.photos_status
  end,
  photos = case when excluded.total_photo_count = 0 then '[]' else activity.photos end,
  updated_at = now()
where activity.asked_at <= excluded.asked_at
