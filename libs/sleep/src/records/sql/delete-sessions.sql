-- Nights that rested on what goes are remembered: the world still has to hear of them.
with gone as (
  delete from sleep_session
  where ctid in (select ctid from sleep_session where user_id = $1 and source = $2 limit $3)
  returning user_id, date, event_id
), untold as (
  insert into sleep_untold (user_id, date)
  select distinct sleep_data.user_id, sleep_data.date
  from gone
  join sleep_data using (user_id, date, event_id)
  on conflict (user_id, date) do update
  set because = excluded.because
)
select user_id, to_char(date, 'YYYY-MM-DD') as date, null as event_id
from gone
