-- The next attempt is set before this one is made: a worker that dies in between costs a delay and nothing else.
with due as (
  select r.id
  from revocation r
  where
    (r.id = $1 or ($1::uuid is null and r.next_attempt_at <= clock_timestamp()))
    and not exists (
      select from connection c where c.provider = r.provider and c.vendor_athlete_id = r.vendor_athlete_id
    )
  order by r.next_attempt_at
  limit $2
  for update skip locked
)
update revocation r
set
  attempts = attempts + 1,
  next_attempt_at = clock_timestamp() + least($3 * 2 ^ least(r.attempts, 20), $4) * interval '1 millisecond'
from due
where r.id = due.id
returning r.id, r.provider, r.token, r.attempts
