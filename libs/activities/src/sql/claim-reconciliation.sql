-- The connected athlete whose history was compared longest ago. Until it is done, or the lease ends, others find the next;
-- one that was cut short goes on from where it was.
update strava_sync
set reconcile_after = clock_timestamp() + $3 * interval '1 millisecond'
from (
  select
    strava_sync.athlete_id,
    coalesce(whole_history_reconciled_at, last_strava_sync_at) < clock_timestamp() - $2 * interval '1 millisecond' as is_whole
  from strava_sync
  join connection
    on connection.athlete_id = strava_sync.athlete_id
    and connection.provider = 'strava'
    and connection.status = 'active'
  where coalesce(reconciled_at, last_strava_sync_at) < clock_timestamp() - $1 * interval '1 millisecond'
    and (reconcile_after is null or reconcile_after <= clock_timestamp())
    and not exists (
      select 1
      from import_jobs
      where import_jobs.athlete_id = strava_sync.athlete_id
        and import_jobs.status in ('queued', 'started', 'rate_limited')
    )
  order by coalesce(reconciled_at, last_strava_sync_at)
  limit 1
  for update of strava_sync skip locked
) due
where strava_sync.athlete_id = due.athlete_id
returning strava_sync.athlete_id, due.is_whole, strava_sync.reconcile_progress as progress
