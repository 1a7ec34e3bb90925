-- Gives the turn back until later; answers how long that is by the database's clock.
update import_jobs
set
  status = $3,
  retry_after = clock_timestamp() + $4 * interval '1 millisecond',
  error = $5,
  failures = $6,
  accidents = $7,
  leased_until = null,
  updated_at = now()
where id = $1
  and turn = $2
  and status = 'started'
returning retry_after
