-- What we hold of these records, and of these dates.
select
  record_id, revision::float8 as revision, captured_at, state,
  date between $4::date and $5::date as is_of_dates
from sleep_session
where user_id = $1 and source = $2 and (record_id = any($3::text[]) or date between $4::date and $5::date)
