-- Times are seconds. `least` bounds the token's end first, because a text such as 1e300 is no timestamp. The lock on the athlete keeps a deletion
-- of the account from deleting the row that this session refers to.
insert into session (hash, athlete_id, role, account, expires_at)
select $1, a.id, $3, $4, ends.at
from
  athlete a,
  (select to_timestamp(least($5::float8, extract(epoch from clock_timestamp())::float8 + $6::float8)) as at) ends
where a.id = $2 and ends.at > clock_timestamp()
for key share of a
returning expires_at
