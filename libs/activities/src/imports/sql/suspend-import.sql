-- Ends the lease. The import is due again after $4 ms. Returns its row.
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
  and fence = $2
  and status = 'started'
returning *
