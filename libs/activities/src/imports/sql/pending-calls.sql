select
  activity.athlete_id,
  (count(*) filter (where detail_status = 'pending') + count(*) filter (where photos_status = 'pending'))::int as calls
from activity
where (detail_status = 'pending' or photos_status = 'pending')
  and activity.athlete_id in (
    select athlete_id
    from import_jobs
    where status in ('queued', 'started', 'rate_limited')
  )
group by activity.athlete_id
