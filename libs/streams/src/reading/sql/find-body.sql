select body
from activity_stream
where activity_id = $1
  and etag = $2
