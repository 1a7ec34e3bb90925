-- Makes at most $3 of the athlete's ($1) set-aside activities of a vendor ($2) pending again.
update activity
set
  detail_status = case when detail_status = 'set_aside' then 'pending' else detail_status end,
  detail_attempts = case when detail_status = 'set_aside' then 0 else detail_attempts end,
  detail_retry_at = case when detail_status = 'set_aside' then null else detail_retry_at end,
  detail_error = case when detail_status = 'set_aside' then null else detail_error end,
  photos_status = case when photos_status = 'set_aside' then 'pending' else photos_status end,
  photos_attempts = case when photos_status = 'set_aside' then 0 else photos_attempts end,
  photos_retry_at = case when photos_status = 'set_aside' then null else photos_retry_at end,
  photos_error = case when photos_status = 'set_aside' then null else photos_error end
where id = any(array(
  select id
  from activity
  where athlete_id = $1
    and provider = $2
    and (detail_status = 'set_aside' or photos_status = 'set_aside')
  limit $3
))
