-- Deletes at most $2 sessions of dates more than $1 days ago, and the nights of these dates. A night may go before the last of its sessions:
-- otherwise a batch that takes only some of them would publish the night of the others.
with gone as (
  delete from sleep_session
  where ctid = any(array(
    select ctid
    from sleep_session
    where date < (now() at time zone 'utc')::date - $1::int
    order by date
    limit $2
  ))
  returning user_id, date
), removed as (
  delete from sleep_data
  using (select distinct user_id, date from gone) as past
  where sleep_data.user_id = past.user_id and sleep_data.date = past.date
  returning sleep_data.user_id, sleep_data.date
), unpublished as (
  insert into sleep_untold (user_id, date)
  select user_id, date
  from removed
  on conflict (user_id, date) do update
  set because = excluded.because
)
select
from gone
