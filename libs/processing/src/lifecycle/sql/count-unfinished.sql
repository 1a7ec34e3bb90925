-- Counts unfinished jobs only. Most jobs have ended: `roughCount` counts the ended jobs, exactly up to a bound.
select status, count(*)::integer as jobs
from jobs
where finished_at_utc is null
group by status
