-- A deletion has two steps: first the rows are deleted, then the messages in NATS.
alter table receipt
  -- The athlete's subject in sleep events. Null before the rows are deleted, and once the deletion is complete.
  add column subject text,
  add column rows_deleted_at timestamptz,
  -- Until this time, records may still name the person; see docs/deletion.md.
  add column until timestamptz;

update receipt set rows_deleted_at = completed_at where completed_at is not null;

create index receipt_completed on receipt (completed_at) where completed_at is not null;

-- A night of a deleted subject is refused as long as no athlete with that subject has returned. This index finds such an athlete.
create index athlete_subject on athlete (subject);

-- Orders of operators for many dead letters at once. A worker carries out an order in the sequence of the dead letters.
create table dead_letter_order (
  id bigint generated always as identity primary key,
  action text not null check (action in ('replay', 'discard')),
  reason text,
  subject text,
  seqs bigint[],
  -- Creation time of the stream. It identifies the stream, because a stream that is created again begins at sequence 1.
  stream_created text not null,
  -- Sequence of the newest dead letter at the time of the order. A message that fails again after its replay gets a higher sequence, so
  -- the order does not include it.
  up_to_seq bigint not null,
  after_seq bigint not null default 0,
  matched integer not null,
  handled integer not null default 0,
  asked_at timestamptz not null default now(),
  completed_at timestamptz,
  leased_until timestamptz
);

create index dead_letter_order_open on dead_letter_order (id) where completed_at is null;
