-- The body as base64: two thirds of the bytes that the driver receives for a bytea, decoded in half the time.
select encode(body, 'base64') as body
from activity_stream
where athlete_id = $1
  and activity_id = $2
  and etag = $3
