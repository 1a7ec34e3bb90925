-- Stores the columns that only details have, of any number of activities. Changes no row whose stored detail was requested later.
-- The caller has locked the rows, in the order of `save-summaries.sql`.
-- The detail stays due if a summary that was requested later than this detail has made the detail due again (a crop).
update activity
set
  detail_status = case
    when detail_status = 'pending' and detail_stored_at is not null and asked_at > $2 then 'pending'
    else 'stored'
  end,
  detail_asked_at = $2,
  detail_stored_at = now(),
  detail_attempts = 0,
  detail_retry_at = null,
  detail_error = null,
  description = detail.description,
  calories = detail.calories,
  polyline = detail.polyline,
  laps = detail.laps::jsonb,
  splits = detail.splits::jsonb,
  updated_at = now()
from unnest($4::text[], $5::text[], $6::float8[], $7::text[], $8::text[], $9::text[])
  as detail (external_activity_id, description, calories, polyline, laps, splits)
-- `limit 1` makes Postgres look up each row by its three keys. A plain join reads all of the athlete's activities on tables without statistics.
cross join lateral (
  select id
  from activity as known
  where known.athlete_id = $1
    and known.provider = $3
    and known.external_activity_id = detail.external_activity_id
  limit 1
) as target
where activity.id = target.id
  and coalesce(activity.detail_asked_at, '-infinity') <= $2
returning activity.id, activity.photos_status, activity.stream_fetch_status
