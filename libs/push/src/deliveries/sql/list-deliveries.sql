-- $2: only this status, or null. $3: only ids below this one, or null.
select
  id, change_id, type, status, attempts, last_status, last_response, last_error, next_attempt_at
from webhook_delivery
where endpoint_id = $1
  and ($2::text is null or status = $2)
  and ($3::bigint is null or id < $3)
order by id desc
limit $4
