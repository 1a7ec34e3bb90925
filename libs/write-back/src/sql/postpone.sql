-- $6: true if the attempt counts.
update write_back
set
  status = 'pending',
  leased_until = null,
  reason = $4,
  due_at = now() + $5::float8 * interval '1 millisecond',
  attempts = attempts - case when $6::boolean then 0 else 1 end
where athlete_id = $1
  and activity_id = $2
  and fence = $3
  and status = 'writing'
