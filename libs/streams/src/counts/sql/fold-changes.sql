-- Adds the oldest changes, at most $2, to the sums. An activity that failed $1 times is stuck.
with taken as (
  delete from stream_count_change
  where id = any(array(select id from stream_count_change order by id limit $2))
  returning athlete_id, provider, status, retries, change
),
total as (
  insert into stream_count_total (status, retries, activities)
  select status, retries, sum(change)
  from taken
  group by status, retries
  on conflict (status, retries) do update set activities = stream_count_total.activities + excluded.activities
),
calls_left as (
  insert into stream_count_left (athlete_id, provider, calls)
  select athlete_id, provider, sum(change)
  from taken
  where status in ('pending', 'deferred')
    or (status = 'failed' and retries < $1)
  group by athlete_id, provider
  on conflict (athlete_id, provider) do update set calls = stream_count_left.calls + excluded.calls
),
athlete as (
  insert into stream_count_athlete (athlete_id, pending, fetching, success, failed, stuck, deferred, unavailable)
  select
    athlete_id,
    coalesce(sum(change) filter (where status = 'pending'), 0),
    coalesce(sum(change) filter (where status = 'fetching'), 0),
    coalesce(sum(change) filter (where status = 'success'), 0),
    coalesce(sum(change) filter (where status = 'failed'), 0),
    coalesce(sum(change) filter (where status = 'failed' and retries >= $1), 0),
    coalesce(sum(change) filter (where status = 'deferred'), 0),
    coalesce(sum(change) filter (where status = 'unavailable'), 0)
  from taken
  group by athlete_id
  on conflict (athlete_id) do update set
    pending = stream_count_athlete.pending + excluded.pending,
    fetching = stream_count_athlete.fetching + excluded.fetching,
    success = stream_count_athlete.success + excluded.success,
    failed = stream_count_athlete.failed + excluded.failed,
    stuck = stream_count_athlete.stuck + excluded.stuck,
    deferred = stream_count_athlete.deferred + excluded.deferred,
    unavailable = stream_count_athlete.unavailable + excluded.unavailable
)
select athlete_id
from taken
