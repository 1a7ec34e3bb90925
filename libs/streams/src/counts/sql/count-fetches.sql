select athlete_id, stream_fetch_status as status, count(*)::int as activities
from activity
group by athlete_id, stream_fetch_status
