-- Activities that have changed since the processing runtime last saw them. An activity whose job is under way is left out until
-- the job has ended, since the job may have begun before the streams were stored. A job that waits for an input is not
-- under way: its activity is included, so that the job is tried at once.
select id, athlete_id
from activity
where (first_seen_at is null or seen_revision < input_revision)
  and stream_fetch_status in ('success', 'unavailable')
  and not exists (
    select 1
    from jobs
    where jobs.athlete_id = activity.athlete_id
      and jobs.activity_id = activity.id
      and finished_at_utc is null
      and waits_for is null
  )
order by start_time desc
limit $1
for no key update skip locked
