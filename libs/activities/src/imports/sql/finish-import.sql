update import_jobs
set
  status = $3,
  sync_cursor = coalesce($4, sync_cursor),
  activities_total = coalesce($5, activities_total),
  error = $6,
  retry_after = null,
  leased_until = null,
  finished_at = now(),
  updated_at = now()
where id = $1
  and fence = $2
  and status = 'started'
returning *
