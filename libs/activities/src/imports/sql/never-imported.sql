-- Connected, and no import since: the process that was to begin one died in between.
select connection.athlete_id
from connection
where connection.provider = 'strava'
  and connection.status = 'active'
  and connection.connected_at < clock_timestamp() - interval '5 seconds'
  and not exists (
    select 1
    from import_jobs
    where import_jobs.athlete_id = connection.athlete_id
  )
  and not exists (
    select 1
    from strava_sync
    where strava_sync.athlete_id = connection.athlete_id
  )
limit $1
