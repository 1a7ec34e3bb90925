-- The athlete whose history was compared longest ago. The claim is the moment itself: another worker finds the next.
update strava_sync
set
  reconciled_at = clock_timestamp(),
  whole_history_reconciled_at = case
    when due.is_whole then clock_timestamp()
    else strava_sync.whole_history_reconciled_at
  end
from (
  select
    athlete_id,
    reconciled_at as compared_at,
    whole_history_reconciled_at as whole_compared_at,
    coalesce(whole_history_reconciled_at, last_strava_sync_at) < clock_timestamp() - $2 * interval '1 millisecond' as is_whole
  from strava_sync
  where coalesce(reconciled_at, last_strava_sync_at) < clock_timestamp() - $1 * interval '1 millisecond'
    and not exists (
      select 1
      from import_jobs
      where import_jobs.athlete_id = strava_sync.athlete_id
        and import_jobs.status in ('queued', 'started', 'rate_limited')
    )
  order by coalesce(reconciled_at, last_strava_sync_at)
  limit 1
  for update skip locked
) due
where strava_sync.athlete_id = due.athlete_id
returning strava_sync.athlete_id, due.is_whole, due.compared_at, due.whole_compared_at
