-- clock_timestamp() instead of now() would prevent the use of the index.
delete from sign_in_code
where hash = any(array(
  select hash
  from sign_in_code
  where expires_at < now()
  order by expires_at
  limit $1
))
