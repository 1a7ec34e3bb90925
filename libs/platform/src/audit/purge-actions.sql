delete from operator_action
where id = any(array(
  select id
  from operator_action
  where at < now() - $1::float8 * interval '1 millisecond'
  order by at
  limit $2
))
