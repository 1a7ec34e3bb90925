-- What the runtime has not come across. One whose job is under way is looked at again when that has ended: it may have begun
-- before its streams were here.
select id, athlete_id
from activity
where first_seen_at is null
  and stream_fetch_status in ('success', 'unavailable')
  and not exists (select 1 from jobs where jobs.activity_id = activity.id and finished_at_utc is null)
order by start_time desc
limit $1
for no key update skip locked
