-- Schedules the next attempt before the present attempt is made. So a worker that dies during the attempt only delays the revocation.
with due as (
  select r.id
  from revocation r
  where
    (r.id = $1 or ($1::uuid is null and r.next_attempt_at <= now()))
    and is_free(r.leased_until)
    and not exists (
      select from connection c where c.provider = r.provider and c.vendor_athlete_id = r.vendor_athlete_id
    )
  order by r.next_attempt_at
  limit 1
  for update skip locked
)
update revocation r
set
  attempts = attempts + 1,
  fence = fence + 1,
  leased_until = lease_end($4),
  next_attempt_at = clock_timestamp() + least($2 * 2 ^ least(r.attempts, 20), $3) * interval '1 millisecond'
from due
where r.id = due.id
returning r.id, r.provider, r.vendor_athlete_id, r.token, r.attempts, r.fence
