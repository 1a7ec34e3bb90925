-- The records of a user's date, in the order in which derive-nights.sql prefers them: the first one is the night if it is scored and no nap.
select
  source, record_id, vendor, duration_minutes, quality_score, nap, state, captured_at, raw
from sleep_session
where user_id = $1
  and date = $2
order by
  state = 'scored' and not nap desc, source = 'ingest', duration_minutes desc, captured_at desc, payload_hash desc
