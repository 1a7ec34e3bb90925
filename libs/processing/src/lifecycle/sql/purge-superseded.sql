-- The runs are deleted with their jobs. Uses now(): clock_timestamp() is volatile, so the planner would not use the index.
delete from jobs
where job_id = any(array(
  select job_id
  from jobs
  where superseded_at_utc < now() - $1::float8 * interval '1 millisecond'
  order by superseded_at_utc
  limit $2
))
