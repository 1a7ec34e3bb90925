-- $1 athletes. Each athlete's import that is not finished, or else the newest one.
select latest.*
from unnest($1::uuid[]) as asked (athlete_id)
cross join lateral (
  select *
  from import_jobs
  where import_jobs.athlete_id = asked.athlete_id
    and superseded_at is null
  order by finished_at is null desc, created_at desc
  limit 1
) latest
