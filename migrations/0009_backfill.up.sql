-- One row: whether operators have paused the backfill.
create table backfill_switch (
  is_paused boolean not null,
  changed_at timestamptz not null default now()
);
create unique index backfill_switch_one on backfill_switch ((true));
insert into backfill_switch (is_paused) values (false);
