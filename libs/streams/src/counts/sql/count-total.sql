-- The folded sums plus the changes since the last fold.
select status, retries, sum(activities)::float8 as activities
from (
  select status, retries, activities
  from stream_count_total
  union all
  select status, retries, change
  from stream_count_change
) counted
group by status, retries
having sum(activities) <> 0
order by status, retries
