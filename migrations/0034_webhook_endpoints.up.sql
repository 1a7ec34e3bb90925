-- Apps register endpoints. Each endpoint gets a delivery for each change whose type it has chosen.

-- Whether a list of types such as `activity.*` and `sleep.stored` names this type.
create function names_type(types text[], type text) returns boolean
language sql immutable
return types && array[type, split_part(type, '.', 1) || '.*', '*'];

-- `status` deleted: hidden from the API; a worker deletes the row after its deliveries.
create table webhook_endpoint (
  id uuid primary key,
  url text not null,
  types text[] not null,
  description text,
  status text not null default 'active' check (status in ('active', 'disabled', 'deleted')),
  disabled_reason text,
  -- Sealed. During a rotation the previous secret signs as well, until `previous_until`.
  secret text not null,
  previous_secret text,
  previous_until timestamptz,
  key_version integer not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The circuit: failed attempts in a row since the last success. No delivery is attempted before `paused_until`.
  failures integer not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  leased_until timestamptz,
  fence bigint not null default 0
);

-- A delivery refers to its change by `seq` and id, and does not copy it: when the change is blanked or purged, there is nothing left to send.
create table webhook_delivery (
  id bigint generated always as identity,
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  -- Null for a test, which has a body of its own.
  seq bigint,
  change_id uuid not null,
  -- A deletion finds the delivery by it, also when the change is purged. Null for `athlete.deleted`, which stays.
  athlete_id uuid,
  type text not null,
  body json,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_attempt_at timestamptz default clock_timestamp(),
  last_status integer,
  last_response text,
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  -- The first success. A repetition keeps it, so that a receipt counts what endpoints have got.
  delivered_at timestamptz,
  primary key (endpoint_id, id)
)
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

-- One delivery of a change to an endpoint, however often the planner repeats a batch.
create unique index webhook_delivery_of_change on webhook_delivery (seq, endpoint_id);
create index webhook_delivery_due on webhook_delivery (endpoint_id, next_attempt_at) where status = 'pending';
create index webhook_delivery_failed on webhook_delivery (endpoint_id, id) where status = 'failed';
-- For deletions, which lock deliveries in the order of the log.
create index webhook_delivery_of_athlete on webhook_delivery (athlete_id, seq) where athlete_id is not null;

-- The last change whose deliveries exist. One row.
create table delivery_plan (
  is_only boolean primary key default true check (is_only),
  planned_seq bigint not null default 0
);

-- Changes from before this migration have no endpoint that could want them.
insert into delivery_plan (planned_seq)
select last_seq
from change_feed;

-- A range that is delivered to an endpoint again. The planner goes through the log after `next_seq`, a batch of each replay in turn: the least
-- recently worked one is next.
create table webhook_replay (
  id bigint generated always as identity primary key,
  endpoint_id uuid not null references webhook_endpoint on delete cascade,
  from_time timestamptz not null,
  to_time timestamptz not null,
  next_seq bigint not null,
  last_seq bigint not null,
  worked_at timestamptz not null default clock_timestamp()
);
