-- Calls that streams at a vendor ($2) still take for the athletes connected to it, and the end of each athlete's last deferral. $1: most
-- attempts.
with changed as (
  select athlete_id, sum(change) as calls
  from stream_count_change
  where provider = $2
    and (status in ('pending', 'deferred') or (status = 'failed' and retries < $1))
  group by athlete_id
)
select
  connection.athlete_id,
  (coalesce(stream_count_left.calls, 0) + coalesce(changed.calls, 0))::int as calls,
  (
    select max(stream_fetch_deferred_until)
    from activity
    where activity.athlete_id = connection.athlete_id
      and activity.provider = $2
      and stream_fetch_status = 'deferred'
  ) as not_before
from connection
left join stream_count_left using (athlete_id, provider)
left join changed using (athlete_id)
where connection.provider = $2
  and connection.status = 'active'
  and coalesce(stream_count_left.calls, 0) + coalesce(changed.calls, 0) > 0
