-- Times are seconds. The token's end is cut to a day from now: a code lasts an hour, and its session 12 hours.
insert into sign_in_code (hash, athlete_id, role, account, expires_at, token_expires_at)
select $1, a.id, $3, $4, to_timestamp(least($5::float8, now.s + $6::float8)), to_timestamp(least($5::float8, now.s + 86400))
from athlete a, (select extract(epoch from clock_timestamp())::float8 as s) now
where a.id = $2
for key share of a
returning expires_at
