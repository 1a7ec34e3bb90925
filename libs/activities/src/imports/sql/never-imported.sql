-- Finds connections to vendors with activities ($2) that have no import, since a process died before it created the import. $3: only connections
-- made within this many ms; null for all connections.
select connection.athlete_id, connection.provider
from connection
where connection.provider = any ($2)
  and connection.status = 'active'
  and connection.connected_at < now() - interval '5 seconds'
  and connection.connected_at >= coalesce(now() - $3::float8 * interval '1 millisecond', '-infinity')
  -- This is one index lookup for each connection. A join would read all imports.
  and (
    select import_jobs.id
    from import_jobs
    where import_jobs.athlete_id = connection.athlete_id
      and import_jobs.provider = connection.provider
      -- The newest import of each type is never superseded.
      and import_jobs.superseded_at is null
    limit 1
  ) is null
  and not exists (
    select 1
    from activity_sync
    where activity_sync.athlete_id = connection.athlete_id
      and activity_sync.provider = connection.provider
  )
limit $1
