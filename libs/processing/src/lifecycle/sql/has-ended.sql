-- Finds the runs that an earlier complete.sql has ended. Used when the answer of complete.sql was lost, before that
-- statement is repeated.
select run_id
from runs
where (athlete_id, run_id) in (select * from unnest($1::uuid[], $2::uuid[]))
  and worker_owner = $3
  and status in ('retry_wait', 'succeeded', 'failed_permanent')
  and error is distinct from 'lease_expired'
