select status, count(*)::integer as jobs
from jobs
group by status
