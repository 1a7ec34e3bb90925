-- The claim of a reconciliation of nights read the rows of all connections, because a new connection had no row and a consent was seen only
-- in `connection`. Now each connection has its row from the beginning, a consent makes the row due, and one index leads to the due rows.
alter table sleep_comparison add column provider text constraint sleep_comparison_provider references vendor (id);

update sleep_comparison
set
  provider = connection.provider,
  -- A paused row keeps its pause.
  next_at = case
    when connection.connected_at > coalesce(postponed_at, compared_at) then now()
    when begun_at is null then greatest(next_at, compared_at + interval '1 day')
    else next_at
  end
from connection
where connection.id = connection_id
  and connection.athlete_id = sleep_comparison.athlete_id;

insert into sleep_comparison (athlete_id, connection_id, provider, next_at)
select athlete_id, id, provider, now()
from connection
on conflict (connection_id, athlete_id) do nothing;

alter table sleep_comparison alter column provider set not null;
comment on column sleep_comparison.next_at is
  'No reconciliation begins or continues before this time. A consent sets it to now.';
create index sleep_comparison_due on sleep_comparison (provider, next_at);

create function await_sleep_comparison() returns trigger
language plpgsql as $$
begin
  insert into sleep_comparison (athlete_id, connection_id, provider, next_at)
  values (new.athlete_id, new.id, new.provider, now())
  on conflict (connection_id, athlete_id) do update
  set next_at = excluded.next_at;
  return null;
end
$$;

create trigger connection_awaits_comparison after insert or update of connected_at on connection
for each row execute function await_sleep_comparison();

-- The search for connections without an import reads those of the last day.
create index connection_newest on connection (provider, connected_at);
