-- Nights that a deletion changed and that are not published yet. The transaction of the deletion inserts the row. The row is deleted
-- once the night is published.
create table sleep_untold (
  user_id text not null,
  date date not null,
  -- Identifies the deletion. The event's id is derived from it, so that publishing twice stores one event.
  because uuid not null default gen_random_uuid(),
  since timestamptz not null default now(),
  primary key (user_id, date)
);
