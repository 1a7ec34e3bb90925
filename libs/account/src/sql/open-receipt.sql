-- The athlete's open receipt for that, or a new one. With $4, only while the connection is the one that was made then.
with meant as (
  select 1
  from connection
  where athlete_id = $1
    and provider = $2
    and connected_at = $4::timestamptz
  -- Waits for whoever is connecting anew at this moment, and then looks again.
  for share
), mine as (
  select id
  from receipt
  where athlete_id = $1
    and provider is not distinct from $2
    and completed_at is null
    and ($4::text is null or exists (select from meant))
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
    and ($4::text is null or exists (select from meant))
  returning id
)
select id from mine
union all
select id from opened
