-- Deletes activities of vendor $3 whose detail was stored more than $1 ms ago. Without a detail, the time of the row's creation counts.
-- This uses now(), since Postgres does not use the index with clock_timestamp().
delete from activity
where id = any(array(
  select id
  from activity
  where provider = $3
    and coalesce(detail_stored_at, created_at) < now() - $1::float8 * interval '1 millisecond'
  order by coalesce(detail_stored_at, created_at)
  limit $2
))
