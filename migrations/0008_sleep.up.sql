-- One sleep session: a vendor's record, or a night that a client sent. A write replaces the row only if it is newer by (revision,
-- captured_at, payload_hash), so the order and number of deliveries do not matter.
create table sleep_session (
  user_id text not null,
  source text not null check (source in ('ingest', 'oura', 'whoop')),
  -- The vendor's id of the record. For a client's night it is the date.
  record_id text not null,
  -- The local date of waking.
  date date not null,
  -- Earlier dates of a record that has moved. The nights of these dates have to be published again as well.
  former_dates date[] not null default '{}',
  vendor text not null check (vendor in ('oura', 'whoop', 'unknown')),
  duration_minutes integer not null check (duration_minutes >= 0),
  quality_score double precision check (quality_score between 0 and 100),
  nap boolean not null,
  -- Deleted sessions stay as tombstones, so that an older revision that arrives late does not bring them back.
  state text not null check (state in ('scored', 'pending', 'deleted')),
  revision bigint not null,
  captured_at timestamptz not null,
  payload_hash bigint not null,
  event_id text not null,
  -- The JSON as it arrived. The type is text, because no statement queries the JSON and jsonb would refuse some documents.
  raw text,
  primary key (user_id, source, record_id)
)
-- Most nights are written twice, pending and then scored. The fill factor leaves room for the second version on the same page, so that no
-- index changes.
with (fillfactor = 50);

create index sleep_session_night on sleep_session (user_id, date) where state = 'scored' and not nap;

-- A user's night of a date, derived from the sessions; event_id is the event that made it.
create table sleep_data (
  user_id text not null,
  date date not null,
  duration_minutes integer not null,
  quality_score double precision,
  vendor text not null,
  captured_at timestamptz not null,
  event_id text not null,
  primary key (user_id, date)
)
with (fillfactor = 50);

-- Subjects whose sleep was deleted, kept for as long as an older event may still be delivered.
create table sleep_erasure (
  user_id text not null,
  source text not null,
  erased_at timestamptz not null,
  primary key (user_id, source)
);

-- Actions of operators; `actor` is the operator.
create table operator_action (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  target text not null,
  detail jsonb not null default '{}'
);

-- Every call to Oura and WHOOP, as in strava_api_requests.
create table oura_api_requests (like strava_api_requests including all);
create table whoop_api_requests (like strava_api_requests including all);
alter table oura_api_requests
  add foreign key (user_id) references athlete (id) on delete set null;
alter table whoop_api_requests
  add foreign key (user_id) references athlete (id) on delete set null;

insert into vendor_budget_epoch (vendor, epoch) values ('oura', 0), ('whoop', 0);
