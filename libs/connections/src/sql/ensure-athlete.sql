-- Returns the id of the athlete of an issuer and subject, and inserts the athlete if there is none; `is_new` says which. Returns no row if
-- another process has inserted the athlete at the same moment.
-- $1 the id of a new athlete, $2 issuer, $3 subject, $4 true: adopt an athlete who has this subject and no issuer yet
with adopted as (
  update athlete
  set issuer = $2
  where $4::boolean
    and issuer = ''
    and subject = $3
    and not exists (select 1 from athlete as own where own.issuer = $2 and own.subject = $3)
  returning id
),
made as (
  insert into athlete (id, issuer, subject)
  select $1::uuid, $2, $3
  where not exists (select 1 from adopted)
  on conflict do nothing
  returning id
)
select id, false as is_new from adopted
union all
select id, true from made
union all
-- A subject that is a UUID is the athlete's id for every issuer.
select id, false from athlete where (issuer = $2 and subject = $3) or id = $1::uuid
limit 1
