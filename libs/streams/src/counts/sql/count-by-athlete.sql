-- Athletes with the most waiting activities first. The sums may lag behind, so every athlete with a change row is counted too.
with changed as (
  select
    athlete_id,
    sum(change) filter (where status = 'pending') as pending,
    sum(change) filter (where status = 'fetching') as fetching,
    sum(change) filter (where status = 'success') as success,
    sum(change) filter (where status = 'failed') as failed,
    sum(change) filter (where status = 'deferred') as deferred,
    sum(change) filter (where status = 'unavailable') as unavailable
  from stream_count_change
  group by athlete_id
),
first as (
  (
    select athlete_id
    from stream_count_athlete
    order by waiting desc, athlete_id
    -- One more row for each changed athlete: each of them may drop out of the first $1.
    limit $1 + (select count(*) from changed)
  )
  union
  select athlete_id
  from changed
),
counted as (
  select
    athlete_id,
    (coalesce(summed.pending, 0) + coalesce(changed.pending, 0))::int as pending,
    (coalesce(summed.fetching, 0) + coalesce(changed.fetching, 0))::int as fetching,
    (coalesce(summed.success, 0) + coalesce(changed.success, 0))::int as success,
    (coalesce(summed.failed, 0) + coalesce(changed.failed, 0))::int as failed,
    (coalesce(summed.deferred, 0) + coalesce(changed.deferred, 0))::int as deferred,
    (coalesce(summed.unavailable, 0) + coalesce(changed.unavailable, 0))::int as unavailable
  from first
  left join stream_count_athlete summed using (athlete_id)
  left join changed using (athlete_id)
)
select athlete_id, pending, fetching, success, failed, deferred, unavailable
from counted
where pending + fetching + success + failed + deferred + unavailable > 0
order by pending + fetching + failed + deferred desc, athlete_id
limit $1
