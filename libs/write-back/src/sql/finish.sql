update write_back
set
  status = $3,
  reason = $4,
  leased_until = null,
  finished_at = now()
where activity_id = $1
  and fence = $2
  and status = 'writing'
