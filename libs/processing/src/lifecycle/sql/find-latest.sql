select id
from activity
where athlete_id = $1
order by start_time desc, id desc
limit 1
