-- This uses now(), since Postgres does not use the index with clock_timestamp().
delete from import_jobs
where id = any(array(
  select id
  from import_jobs
  where superseded_at < now() - $1::float8 * interval '1 millisecond'
  order by superseded_at
  limit $2
))
