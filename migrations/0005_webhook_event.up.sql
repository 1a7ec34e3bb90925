-- Events that vendors sent by webhook, stored before they are acknowledged and handled later.
create table webhook_event (
  id bigint generated always as identity primary key,
  vendor text not null check (vendor in ('strava', 'oura', 'whoop')),
  -- A vendor's repeated delivery of an event has the same key.
  dedupe_key text not null,
  owner_id text not null,
  object_type text not null,
  object_id text not null,
  aspect text not null check (aspect in ('create', 'update', 'delete')),
  event_time timestamptz not null,
  raw text not null,
  received_at timestamptz not null default clock_timestamp(),
  processed_at timestamptz,
  outcome text check (outcome in ('applied', 'deleted', 'deauthorized', 'superseded', 'ignored', 'set_aside')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  last_error text,
  unique (vendor, dedupe_key),
  check ((processed_at is null) = (outcome is null))
);

create index webhook_event_waiting on webhook_event (vendor, id) where processed_at is null;
create index webhook_event_object on webhook_event (vendor, owner_id, object_type, object_id);
create index webhook_event_processed on webhook_event (processed_at) where processed_at is not null;

-- The vendor's athletes with events. The lease lets one worker at a time handle the events of an athlete. The next athlete is the one
-- whose last turn was longest ago.
create table webhook_owner (
  vendor text not null,
  owner_id text not null,
  lease uuid,
  leased_until timestamptz,
  served_at timestamptz not null default '-infinity',
  primary key (vendor, owner_id)
);

-- Our subscription at a vendor, as last read from the vendor. There is no row while the subscription is unknown.
create table webhook_subscription (
  vendor text primary key,
  subscription_id text not null,
  seen_at timestamptz not null default clock_timestamp()
);
