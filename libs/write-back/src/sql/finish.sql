update write_back
set
  status = $4,
  reason = $5,
  leased_until = null,
  finished_at = now()
where athlete_id = $1
  and activity_id = $2
  and fence = $3
  and status = 'writing'
