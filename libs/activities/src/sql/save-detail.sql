-- What only the detail knows. One that was asked for before the row's newest summary is still better than none.
update activity
set
  detail_status = 'stored',
  detail_stored_at = now(),
  detail_attempts = 0,
  detail_retry_at = null,
  detail_error = null,
  description = $4,
  calories = $5,
  polyline = $6,
  laps = $7,
  splits = $8,
  updated_at = now()
where athlete_id = $1
  and provider = 'strava'
  and external_activity_id = $2
  and (asked_at <= $3 or detail_status <> 'stored')
returning id
