update activity
set
  first_seen_at = coalesce(first_seen_at, now()),
  last_seen_at = now(),
  seen_revision = input_revision
where id = any ($1::uuid[])
returning id
