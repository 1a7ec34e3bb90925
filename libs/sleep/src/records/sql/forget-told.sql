delete from sleep_untold
using unnest(string_to_array($1, chr(30), ''), $2::date[], $3::uuid[]) as told (user_id, date, because)
where sleep_untold.user_id = told.user_id
  and sleep_untold.date = told.date
  -- Another deletion may have changed it since.
  and sleep_untold.because = told.because
