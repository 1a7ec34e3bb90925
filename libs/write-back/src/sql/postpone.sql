-- $5: whether the attempt counts.
update write_back
set
  status = 'pending',
  leased_until = null,
  reason = $3,
  due_at = now() + $4::float8 * interval '1 millisecond',
  attempts = attempts - case when $5::boolean then 0 else 1 end
where activity_id = $1
  and fence = $2
  and status = 'writing'
