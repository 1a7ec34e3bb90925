-- Every call to Strava, recorded before it is sent. If Redis loses its counters, they are rebuilt from these rows.
create table strava_api_requests (
  id bigint generated always as identity primary key,
  user_id uuid references athlete (id) on delete set null,
  endpoint text not null,
  class text not null check (class in ('live', 'import', 'backfill')),
  window_id bigint not null,
  day_id bigint not null,
  status integer,
  -- The window that a 429 closed, and the time at which this window opens again.
  closed_window text,
  closed_until timestamptz,
  requested_at timestamptz not null default clock_timestamp()
);

create index strava_api_requests_window on strava_api_requests (window_id);
create index strava_api_requests_day on strava_api_requests (day_id);
create index strava_api_requests_closed on strava_api_requests (closed_until) where closed_until is not null;
create index strava_api_requests_requested_at on strava_api_requests (requested_at);
-- Makes the `set null` fast when an athlete is deleted.
create index strava_api_requests_user_id on strava_api_requests (user_id);

-- The epoch counts the rebuilds of a vendor's budget. The rebuilt counters lack a call whose permit is of an
-- earlier epoch. So this call cannot be recorded, and a call that is not recorded is not made.
create table vendor_budget_epoch (
  vendor text primary key,
  epoch bigint not null
);

insert into vendor_budget_epoch (vendor, epoch) values ('strava', 0);
