-- $1 and $2 the range of subjects, $3 and $4 the range of ids, $5 the athlete's id at a vendor, $6 and $7 the subject and id after which the
-- page begins, $8 how many. Each branch finds few athletes by an index, however many athletes there are. The first branch computes one lower
-- bound: with two, Postgres would begin its scan at the lower one.
with found as (
  (
    select id, subject, created_at
    from athlete
    where (subject collate "C", id) > (
        greatest($1::text collate "C", $6::text collate "C"),
        case when $6::text collate "C" < $1::text collate "C" then '00000000-0000-0000-0000-000000000000' else $7::uuid end
      )
      and subject collate "C" < $2
    order by subject collate "C", id
    limit $8
  )
  union
  (
    select id, subject, created_at
    from athlete
    where id between $3::uuid and $4::uuid
  )
  union
  (
    select athlete.id, athlete.subject, athlete.created_at
    from vendor
    join connection on connection.provider = vendor.id
    join athlete on athlete.id = connection.athlete_id
    where connection.vendor_athlete_id = $5
  )
)
select id, subject, api_time(created_at) as created_at
from found
where (subject collate "C", id) > ($6, $7::uuid)
order by subject collate "C", id
limit $8
