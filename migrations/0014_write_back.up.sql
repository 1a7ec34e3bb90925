-- The activity's name as the vendor first sent it. If `name` differs now, a person has changed it.
alter table activity add column imported_name text;

-- Our title and description of an activity, to be written to the vendor once.
create table write_back (
  -- No foreign key to the activity: see `runs` in 0010.
  activity_id uuid primary key references activity_state (activity_id) on delete cascade,
  run_id uuid not null,
  title text not null,
  description text not null,
  status text not null default 'pending' check (status in ('pending', 'writing', 'written', 'left', 'refused')),
  -- Reason why our texts are not written (yet).
  reason text,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  leased_until timestamptz,
  -- Rises with every claim. A worker that writes with an older number has lost the row to another.
  fence bigint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint write_back_leased check ((status = 'writing') = (leased_until is not null)),
  constraint write_back_finished check ((status in ('written', 'left', 'refused')) = (finished_at is not null))
);

create index write_back_unfinished on write_back (due_at) where finished_at is null;
