with next as (
  select activity_id
  from write_back
  where finished_at is null
    and due_at <= now()
    and (leased_until is null or leased_until < now())
  order by due_at
  limit 1
  for update skip locked
)
update write_back
set
  status = 'writing',
  fence = fence + 1,
  attempts = attempts + 1,
  leased_until = now() + $1::float8 * interval '1 millisecond'
from next
join activity on activity.id = next.activity_id
left join connection
  on connection.athlete_id = activity.athlete_id
  and connection.provider = activity.provider
where write_back.activity_id = next.activity_id
returning
  write_back.activity_id,
  write_back.fence,
  write_back.attempts,
  write_back.title,
  write_back.description,
  activity.athlete_id,
  activity.external_activity_id,
  activity.imported_name,
  connection.scopes
