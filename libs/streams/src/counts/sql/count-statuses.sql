select stream_fetch_status as status, count(*)::int as activities
from activity
group by stream_fetch_status
