-- How far the relay has published the log of changes to NATS. One worker at a time holds the row.
create table change_relay (
  is_only boolean primary key default true check (is_only),
  published_seq bigint not null default 0,
  -- The newest sequence in the NATS stream that the relay knows of.
  stream_seq bigint not null default 0,
  -- The last holder may have published changes without storing their sequences.
  needs_recovery boolean not null default false,
  leased_until timestamptz,
  fence bigint not null default 0
);

insert into change_relay default values;
