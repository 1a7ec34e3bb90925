-- All that waits about one object, with the attempt counted before it is made: a worker that dies of it has counted too.
update webhook_event
set attempts = attempts + 1
where vendor = $1
  and owner_id = $2
  and object_type = $3
  and object_id = $4
  and processed_at is null
returning id, aspect, event_time, attempts, raw, (
  select max(gone.event_time)
  from webhook_event gone
  where gone.vendor = $1
    and gone.owner_id = $2
    and gone.object_type = $3
    and gone.object_id = $4
    and gone.outcome = 'deleted'
) as deleted_at
