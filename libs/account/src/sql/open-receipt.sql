with mine as (
  select id
  from receipt
  where athlete_id = $1
    and provider is not distinct from $2
    and completed_at is null
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
  returning id
)
select id from mine
union all
select id from opened
