-- clock_timestamp() instead of now() would prevent the use of the index.
delete from webhook_event
where id = any(array(
  select id
  from webhook_event
  where processed_at < now() - $1::float8 * interval '1 millisecond'
  order by processed_at
  limit $2
))
