delete from receipt
where id = any(array(
  select id
  from receipt
  where completed_at < now() - $1::float8 * interval '1 millisecond'
  order by completed_at
  limit $2
))
