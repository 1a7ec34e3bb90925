-- `for share` orders this insert and a rebuild. If the insert is first, the rebuild counts the row.
-- If the rebuild is first, the epoch has changed and no row is inserted.
insert into strava_api_requests (user_id, endpoint, class, window_id, day_id)
select $1::uuid, $2, $3, $4::bigint, $5::bigint
from (
  select 1
  from vendor_budget_epoch
  where vendor = $6
    and epoch = $7::bigint
  for share
) current_epoch
returning id
