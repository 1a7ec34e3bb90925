-- An athlete's streams after activity $2, in the order of ids, with the size of each body. octet_length does not read the body.
select activity.id as activity_id, octet_length(body) as bytes
from activity_stream
join activity
  on activity.athlete_id = activity_stream.athlete_id
  and activity.id = activity_id
where activity.athlete_id = $1
  and ($2::uuid is null or activity.id > $2)
order by activity.id
limit $3
