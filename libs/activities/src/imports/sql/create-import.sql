-- Returns a completed import if one is recent enough. Otherwise creates an import and returns it.
-- Returns nothing if an import of that type and vendor is unfinished.
-- $1 athlete, $2 type, $3 since, $4 cursor, $5 ms for which a completed import is returned instead of a new one, $6 vendor,
-- $7 false: an incremental import looks back as far as the vendor's list
with wanted as (
  select coalesce(
    $3::timestamptz,
    -- 3 days before the last complete sync: an activity of those days may have been uploaded after that sync.
    case when $2 = 'incremental' and $7 then (
      select last_sync_at - interval '3 days'
      from activity_sync
      where athlete_id = $1
        and provider = $6
    ) end
  ) as since
),
recent as (
  select import_jobs.*
  from import_jobs
  cross join wanted
  where athlete_id = $1
    and provider = $6
    and type = $2
    and status = 'completed'
    and finished_at > now() - $5::float8 * interval '1 millisecond'
    -- The completed import looked back at least as far as the new one would.
    and (import_jobs.since is null or wanted.since >= import_jobs.since)
    -- Activities of a former connection were deleted with that connection. A new consent may also show more activities.
    and exists (
      select 1
      from connection
      where connection.athlete_id = $1
        and connection.provider = $6
        and connection.connected_at <= import_jobs.created_at
    )
    and not exists (
      select 1
      from import_jobs unfinished
      where unfinished.athlete_id = $1
        and unfinished.provider = $6
        and unfinished.type = $2
        and unfinished.status in ('queued', 'started', 'rate_limited')
    )
  order by created_at desc
  limit 1
),
created as (
  insert into import_jobs (athlete_id, provider, type, since, sync_cursor)
  select $1, $6, $2, since, $4
  from wanted
  where not exists (select 1 from recent)
  on conflict (athlete_id, provider, type) where status in ('queued', 'started', 'rate_limited') do nothing
  returning *
),
-- Marks earlier imports as superseded, so that they are purged later. The newest import of each vendor and type is never superseded.
superseded as (
  update import_jobs
  set superseded_at = now()
  from created
  where import_jobs.athlete_id = created.athlete_id
    and import_jobs.provider = created.provider
    and import_jobs.type = created.type
    and import_jobs.id <> created.id
    and import_jobs.finished_at is not null
    and import_jobs.superseded_at is null
)
select created.*, true as is_new
from created
union all
select recent.*, false
from recent
