-- The present version of each of these streams of an athlete.
select activity_id, etag
from activity_stream
where athlete_id = $1
  and activity_id = any ($2::uuid[])
