update activity
set
  first_seen_at = coalesce(first_seen_at, now()),
  last_seen_at = now()
where id = any ($1::uuid[])
returning id
