-- Number of workers that died while they ran this job. A job that lost a worker runs alone from then on. So a job is given up
-- only if it kills its worker without other jobs beside it. Jobs that run alone have an index of their own.
alter table jobs add column lost_workers integer not null default 0 check (lost_workers >= 0);
drop index jobs_claimable;
create index jobs_claimable on jobs (priority desc, requested_at_utc, available_at_utc)
  where status in ('queued', 'retry_wait') and lost_workers = 0;
create index jobs_claimable_alone on jobs (priority desc, requested_at_utc, available_at_utc)
  where status in ('queued', 'retry_wait') and lost_workers > 0;

-- From now on, a subject that is a UUID is stored in lower case. Until now it was stored as it arrived, so one person could have one
-- account but separate nights for each spelling. This migration merges these nights: the newest version of each record stays.
lock table sleep_session, sleep_data, sleep_erasure, sleep_untold in share row exclusive mode;

create temporary table respelt on commit drop as
select user_id, lower(user_id) as canonical
from (
  select user_id from sleep_session
  union
  select user_id from sleep_data
  union
  select user_id from sleep_erasure
  union
  select user_id from sleep_untold
) as known
where user_id ~ '[A-F]'
  and user_id ~* '^([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|f{8}-f{4}-f{4}-f{4}-f{12})$';

create temporary table spelling on commit drop as
select user_id, canonical from respelt
union
select canonical, canonical from respelt;

-- Consumers may know both spellings. So each night is published twice: as removed under the old spelling, and merged under the new one.
insert into sleep_untold (user_id, date)
select distinct told.user_id, changed.date
from (select user_id, date from sleep_data union select user_id, date from sleep_untold) as changed
join respelt using (user_id)
cross join lateral (values (respelt.user_id), (respelt.canonical)) as told (user_id)
on conflict (user_id, date) do update set because = excluded.because;

-- Keeps the newest version of each record. The order is that of the upsert's condition.
delete from sleep_session
using (
  select
    sleep_session.ctid as at,
    row_number() over (
      partition by spelling.canonical, source, record_id
      order by revision desc, captured_at desc, payload_hash desc, sleep_session.user_id desc
    ) as place
  from sleep_session
  join spelling using (user_id)
) as said
where sleep_session.ctid = said.at
  and said.place > 1;

update sleep_session
set user_id = respelt.canonical
from respelt
where sleep_session.user_id = respelt.user_id;

delete from sleep_data using spelling where sleep_data.user_id = spelling.user_id;

insert into sleep_data (user_id, date, duration_minutes, quality_score, vendor, captured_at, event_id)
select distinct on (user_id, date) user_id, date, duration_minutes, quality_score, vendor, captured_at, event_id
from sleep_session
where user_id in (select canonical from respelt)
  and state = 'scored'
  and not nap
order by user_id, date, source = 'ingest', duration_minutes desc, captured_at desc, payload_hash desc;

insert into sleep_erasure (user_id, source, erased_at)
select respelt.canonical, source, max(erased_at)
from sleep_erasure
join respelt using (user_id)
group by respelt.canonical, source
on conflict (user_id, source) do update
set erased_at = greatest(sleep_erasure.erased_at, excluded.erased_at);

delete from sleep_erasure using respelt where sleep_erasure.user_id = respelt.user_id;

-- These athletes have a UUID as subject. Their id is this UUID in lower case.
update athlete
set subject = id::text
where subject <> id::text
  and lower(subject) = id::text;
