-- A new import, or nothing where one of that type is unfinished. An incremental one goes back a few days before the last
-- complete sync: what was recorded then may have been uploaded since.
insert into import_jobs (athlete_id, type, since, sync_cursor)
values (
  $1,
  $2,
  coalesce(
    $3::timestamptz,
    case when $2 = 'incremental' then (
      select last_strava_sync_at - interval '3 days'
      from strava_sync
      where athlete_id = $1
    ) end
  ),
  $4
)
on conflict (athlete_id, type) where status in ('queued', 'started', 'rate_limited') do nothing
returning *
