-- As base64, as in find-body.sql. What is stored is true also while it is fetched anew.
select
  activity.stream_fetch_status as status,
  activity.stream_fetch_error as error,
  encode(activity_stream.body, 'base64') as body
from activity
left join activity_stream on activity_stream.activity_id = activity.id
where activity.id = $1
