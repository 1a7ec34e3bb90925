-- Plans write-backs of activities that began after the athlete connected: an imported history is not renamed. An activity has
-- one write-back at most: a later run plans none.
insert into write_back (athlete_id, activity_id, run_id, title, description)
select runs.athlete_id, runs.activity_id, runs.run_id, activity_state.last_title, runs.result_json ->> 'description'
from unnest($1::uuid[], $2::uuid[]) as succeeded (athlete_id, run_id)
join runs using (athlete_id, run_id)
join activity_state using (athlete_id, activity_id)
join activity
  on activity.athlete_id = runs.athlete_id
  and activity.id = runs.activity_id
join connection
  on connection.athlete_id = runs.athlete_id
  and connection.provider = activity.provider
where activity.provider = any ($3::text[])
  and activity.external_activity_id is not null
  and activity.stream_fetch_status = 'success'
  and activity.start_time >= connection.connected_at
  and activity_state.last_title <> ''
  and runs.result_json ->> 'description' <> ''
order by runs.activity_id
on conflict (athlete_id, activity_id) do nothing
