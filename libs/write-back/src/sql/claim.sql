with next as (
  select athlete_id, activity_id
  from write_back
  where finished_at is null
    and due_at <= now()
    and is_free(leased_until)
  order by due_at
  limit 1
  for update skip locked
)
update write_back
set
  status = 'writing',
  fence = fence + 1,
  attempts = attempts + 1,
  leased_until = lease_end($1)
from next
join activity
  on activity.athlete_id = next.athlete_id
  and activity.id = next.activity_id
left join connection
  on connection.athlete_id = next.athlete_id
  and connection.provider = activity.provider
where write_back.athlete_id = next.athlete_id
  and write_back.activity_id = next.activity_id
returning
  write_back.activity_id,
  write_back.fence,
  write_back.attempts,
  write_back.title,
  write_back.description,
  write_back.athlete_id,
  activity.provider,
  activity.external_activity_id,
  activity.imported_name,
  connection.scopes
