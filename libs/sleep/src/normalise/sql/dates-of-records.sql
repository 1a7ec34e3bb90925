select sleep_session.user_id, to_char(stood.date, 'YYYY-MM-DD') as date, named.event_id
from unnest(
  string_to_array($1, chr(30), ''), $2::text[], string_to_array($3, chr(30), ''), string_to_array($4, chr(30), '')
) as named (user_id, source, record_id, event_id)
join sleep_session using (user_id, source, record_id)
cross join lateral unnest(sleep_session.former_dates || sleep_session.date) as stood (date)
