-- Every call to Strava, recorded before it is sent. When Redis forgets its counters they are rebuilt from here.
create table strava_api_requests (
  id bigint generated always as identity primary key,
  user_id uuid references athlete (id) on delete set null,
  endpoint text not null,
  class text not null check (class in ('live', 'import', 'backfill')),
  window_id bigint not null,
  day_id bigint not null,
  status integer,
  -- What its 429 has closed, and until when.
  closed_window text,
  closed_until timestamptz,
  requested_at timestamptz not null default clock_timestamp()
);

create index strava_api_requests_window on strava_api_requests (window_id);
create index strava_api_requests_day on strava_api_requests (day_id);
create index strava_api_requests_closed on strava_api_requests (closed_until) where closed_until is not null;
create index strava_api_requests_requested_at on strava_api_requests (requested_at);
-- For the `set null` when an athlete is deleted.
create index strava_api_requests_user_id on strava_api_requests (user_id);

-- Counts the rebuilds of a vendor's budget. A permit of an earlier epoch is worth nothing: its call would be missing from
-- the rebuilt counters, so recording it is refused.
create table vendor_budget_epoch (
  vendor text primary key,
  epoch bigint not null
);

insert into vendor_budget_epoch (vendor, epoch) values ('strava', 0);
