-- The failed fetches that reset-failed.sql would reset, with the same parameters.
select count(*)::int as count
from activity
where stream_fetch_status = 'failed'
  and ($1::text is null or stream_fetch_error = $1)
  and ($2::uuid is null or athlete_id = $2)
  and stream_fetch_attempted_at <= $3
