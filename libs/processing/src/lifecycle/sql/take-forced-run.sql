-- Counts one more forced run of an athlete; returns no row if the window's runs are used up.
-- $1 athlete, $2 runs in a window, $3 ms of a window
insert into forced_runs (athlete_id, began_at, runs)
values ($1, now(), 1)
on conflict (athlete_id) do update set
  began_at = case when forced_runs.began_at <= now() - $3::float8 * interval '1 millisecond' then now() else forced_runs.began_at end,
  runs = case when forced_runs.began_at <= now() - $3::float8 * interval '1 millisecond' then 1 else forced_runs.runs + 1 end
where forced_runs.runs < $2::integer
  or forced_runs.began_at <= now() - $3::float8 * interval '1 millisecond'
returning runs
