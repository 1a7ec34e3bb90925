-- Gives a new import ($2) of the athlete ($1) and vendor ($4) the right to make set-aside activities pending again, at most once in $3 ms.
-- Changes nothing if no activity is set aside, so that a later import may still do so.
update import_jobs
set reopened_at = now()
where id = $2
  and exists (
    select 1
    from activity
    where activity.athlete_id = $1
      and activity.provider = $4
      and (detail_status = 'set_aside' or photos_status = 'set_aside')
  )
  and not exists (
    select 1
    from import_jobs other
    where other.athlete_id = $1
      and other.provider = $4
      and other.reopened_at > now() - $3::float8 * interval '1 millisecond'
  )
