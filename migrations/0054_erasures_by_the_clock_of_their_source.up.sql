-- An erasure was compared with the time of an event. Postgres dates the erasure, and NATS dates the nights that clients send, so a difference
-- between their clocks lost nights or brought deleted ones back. Now an erasure also has the time of the newest event before it, by the
-- clock that dates the events of its source. `erased_at` only says when the erasure itself may be purged.
alter table sleep_erasure add column received_until timestamptz not null default clock_timestamp();
update sleep_erasure set received_until = erased_at;
comment on column sleep_erasure.received_until is
  'Events received until then are refused: by the clock of NATS for `ingest`, by the clock of Postgres for vendors.';
