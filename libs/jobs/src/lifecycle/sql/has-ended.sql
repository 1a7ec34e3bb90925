-- Of runs whose ending was sent twice: those that had ended by it the first time.
select run_id
from runs
where run_id = any ($1::uuid[])
  and worker_owner = $2
  and status in ('retry_wait', 'succeeded', 'failed_permanent')
  and error is distinct from 'lease_expired'
