-- Returns how many ms the athlete has to wait until another import from the vendor may begin. Returns null if there is no need to wait.
-- $1 athlete, $2 vendor, $3 imports that may begin within the time, $4 the time in ms, $5 pages of the list that the imports of the time may
-- have requested besides those of the import with the longest list
with recent as (
  select
    import_jobs.id,
    import_jobs.created_at,
    coalesce((import_jobs.sync_cursor ->> 'pages_listed')::int, 0) as pages
  from import_jobs
  left join connection on connection.athlete_id = $1 and connection.provider = $2
  where import_jobs.athlete_id = $1
    and import_jobs.provider = $2
    and import_jobs.created_at > now() - $4::float8 * interval '1 millisecond'
    -- Imports of an earlier connection do not count.
    and (connection.connected_at is null or import_jobs.created_at >= connection.connected_at)
),
since_each as (
  select
    created_at,
    count(*) over newer as imports,
    sum(pages) over newer - max(pages) over newer as pages_again
  from recent
  window newer as (order by created_at desc, id desc)
)
-- `max(created_at)` is the newest import from which on a limit is reached. When this import is $4 ms old, it no longer counts.
select extract(epoch from max(created_at) - now())::float8 * 1000 + $4 as wait_ms
from since_each
where imports > $3
  or pages_again >= $5
