-- $1 athletes. The sums may lag behind, so the changes since the last fold are added.
select
  athlete_id,
  sum(pending)::int as pending,
  sum(fetching)::int as fetching,
  sum(success)::int as success,
  sum(failed)::int as failed,
  sum(deferred)::int as deferred,
  sum(unavailable)::int as unavailable
from (
  select athlete_id, pending, fetching, success, failed, deferred, unavailable
  from stream_count_athlete
  where athlete_id = any($1::uuid[])
  union all
  select
    athlete_id,
    case when status = 'pending' then change else 0 end,
    case when status = 'fetching' then change else 0 end,
    case when status = 'success' then change else 0 end,
    case when status = 'failed' then change else 0 end,
    case when status = 'deferred' then change else 0 end,
    case when status = 'unavailable' then change else 0 end
  from stream_count_change
  where athlete_id = any($1::uuid[])
) counted
group by athlete_id
