select to_char(date, 'YYYY-MM-DD') as date, duration_minutes, quality_score, vendor, captured_at
from sleep_data
where user_id = $1
  and date >= coalesce($2, '-infinity'::date)
  and date <= coalesce($3, 'infinity'::date)
  and date < coalesce($4, 'infinity'::date)
order by date desc
limit $5
