-- Derives the nights of these users and dates from the sessions. Returns only the nights whose event differs from the event of their key: the
-- caller knows the others.
with touched as (
  select user_id, date, event_id
  from unnest(string_to_array($1, chr(30), ''), $2::date[], string_to_array($3, chr(30), '')) as key (user_id, date, event_id)
), night as (
  select touched.user_id, touched.date, touched.event_id as key_event_id, longest.*
  from touched
  left join lateral (
    select duration_minutes, quality_score, vendor, captured_at, event_id
    from sleep_session
    where sleep_session.user_id = touched.user_id
      and sleep_session.date = touched.date
      and state = 'scored'
      and not nap
    -- A vendor's record wins over a client's; false sorts first.
    order by source = 'ingest', duration_minutes desc, captured_at desc, payload_hash desc
    limit 1
  ) as longest on true
), written as (
  insert into sleep_data as kept (user_id, date, duration_minutes, quality_score, vendor, captured_at, event_id)
  select user_id, date, duration_minutes, quality_score, vendor, captured_at, event_id
  from night
  where event_id is not null
  on conflict (user_id, date) do update
  set
    duration_minutes = excluded.duration_minutes,
    quality_score = excluded.quality_score,
    vendor = excluded.vendor,
    captured_at = excluded.captured_at,
    event_id = excluded.event_id
  -- Compares all columns: the same event id may come again with other content, hours later.
  where (kept.event_id, kept.duration_minutes, kept.quality_score, kept.vendor, kept.captured_at)
    is distinct from
    (excluded.event_id, excluded.duration_minutes, excluded.quality_score, excluded.vendor, excluded.captured_at)
  returning user_id, date
), removed as (
  delete from sleep_data
  using night
  where night.event_id is null and sleep_data.user_id = night.user_id and sleep_data.date = night.date
  returning sleep_data.user_id, sleep_data.date
)
select
  night.user_id, to_char(night.date, 'YYYY-MM-DD') as date, night.event_id, duration_minutes, quality_score, vendor,
  captured_at, written.user_id is not null or removed.user_id is not null as changed
from night
left join written on written.user_id = night.user_id and written.date = night.date
left join removed on removed.user_id = night.user_id and removed.date = night.date
where night.event_id is distinct from night.key_event_id
