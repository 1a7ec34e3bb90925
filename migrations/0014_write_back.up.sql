-- What the vendor called it when we first heard of it: where it has another name since, a person has given it.
alter table activity add column imported_name text;

-- Our words about an activity on their way to the vendor: once, and then never again.
create table write_back (
  -- Not to the activity: see 0010, at runs.
  activity_id uuid primary key references activity_state (activity_id) on delete cascade,
  run_id uuid not null,
  title text not null,
  description text not null,
  status text not null default 'pending' check (status in ('pending', 'writing', 'written', 'left', 'refused')),
  -- Why not, or why not yet.
  reason text,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  leased_until timestamptz,
  -- Rises with every claim. Whoever writes with an older one has lost it to another.
  fence bigint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint write_back_leased check ((status = 'writing') = (leased_until is not null)),
  constraint write_back_finished check ((status in ('written', 'left', 'refused')) = (finished_at is not null))
);

create index write_back_unfinished on write_back (due_at) where finished_at is null;
