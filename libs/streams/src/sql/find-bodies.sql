-- Bodies of these versions of an athlete's streams as base64, for the reason given in find-body.sql.
select activity_stream.activity_id, external_activity_id, encode(body, 'base64') as body
from unnest($2::uuid[], $3::text[]) as wanted (activity_id, etag)
join activity_stream
  on activity_stream.athlete_id = $1
  and activity_stream.activity_id = wanted.activity_id
  and activity_stream.etag = wanted.etag
join activity
  on activity.athlete_id = $1
  and activity.id = activity_stream.activity_id
order by activity_stream.activity_id
