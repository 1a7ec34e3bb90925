-- Nights that a deletion has changed and nobody has been told of yet. Written with the deletion, gone once it is told.
create table sleep_untold (
  user_id text not null,
  date date not null,
  -- Which deletion it was: names the event, so that telling it twice is telling it once.
  because uuid not null default gen_random_uuid(),
  since timestamptz not null default now(),
  primary key (user_id, date)
);
