-- For what was recorded since the athlete connected; nobody wants ten years of activities renamed. One that has been planned is
-- never planned again, whatever a later run finds.
insert into write_back (activity_id, run_id, title, description)
select runs.activity_id, runs.run_id, activity_state.last_title, runs.result_json ->> 'description'
from runs
join activity_state on activity_state.activity_id = runs.activity_id
join activity on activity.id = runs.activity_id
join connection
  on connection.athlete_id = activity.athlete_id
  and connection.provider = activity.provider
where runs.run_id = any ($1::uuid[])
  and activity.provider = 'strava'
  and activity.external_activity_id is not null
  and activity.stream_fetch_status = 'success'
  and activity.start_time >= connection.connected_at
  and activity_state.last_title <> ''
  and runs.result_json ->> 'description' <> ''
order by runs.activity_id
on conflict (activity_id) do nothing
