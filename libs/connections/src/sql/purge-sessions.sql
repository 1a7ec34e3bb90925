-- clock_timestamp() instead of now() would prevent the use of the index.
delete from session
where hash = any(array(
  select hash
  from session
  where expires_at < now()
  order by expires_at
  limit $1
))
