-- Returns the athlete's open receipt for vendor $2, or for the whole account if $2 is null. Opens one if there is none. For a vendor it
-- returns or opens a receipt only if the vendor is connected, and, if $4 is given, if the connection was made at $4.
with to_end as (
  select 1
  from connection
  where athlete_id = $1
    and provider = $2
    and connected_at = coalesce($4::timestamptz, connected_at)
  -- If another transaction connects the athlete again, this subquery waits until that transaction ends, and then reads the new row.
  for share
), mine as (
  select id
  from receipt
  where athlete_id = $1
    and provider is not distinct from $2
    and completed_at is null
    -- If the rows of a receipt are already deleted, this receipt would not delete data that came later.
    and rows_deleted_at is null
    and ($2::text is null or exists (select from to_end))
  order by requested_at
  limit 1
), opened as (
  insert into receipt (athlete_id, provider, reason, accounts)
  select $1, $2, $3, (
    select coalesce(jsonb_object_agg(connection.provider, connection.vendor_athlete_id), '{}')
    from connection
    where connection.athlete_id = $1
      and connection.provider = coalesce($2, connection.provider)
  )
  where not exists (select 1 from mine)
    and ($2::text is null or exists (select from to_end))
  returning id
)
select id from mine
union all
select id from opened
