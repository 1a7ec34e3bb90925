-- Operators see failed stream fetches by their reason, and order the reset of many at once.

-- The index below holds the reason, and an index entry holds at most 2,700 bytes.
update activity
set stream_fetch_error = left(stream_fetch_error, 500)
where stream_fetch_status = 'failed'
  and length(stream_fetch_error) > 500;

-- The counts by reason read only this index.
create index activity_stream_failed on activity (stream_fetch_error, stream_fetch_attempted_at, stream_fetch_retry_count)
  where stream_fetch_status = 'failed';

-- An order to reset failed stream fetches: those with this reason, of this athlete, or all. A worker carries it out in batches.
create table stream_reset_order (
  id bigint generated always as identity primary key,
  error text,
  athlete_id uuid references athlete (id) on delete cascade,
  matched integer not null,
  handled integer not null default 0,
  -- A fetch that was attempted later is not reset, so that a fetch that fails again stays failed.
  ordered_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  leased_until timestamptz,
  fence bigint not null default 0
);

create index stream_reset_order_open on stream_reset_order (id) where completed_at is null;
create index stream_reset_order_athlete on stream_reset_order (athlete_id) where athlete_id is not null;

-- Operators list imports and receipts of all athletes, newest first.
create index import_jobs_recent on import_jobs (created_at desc, id desc);
drop index import_jobs_unhappy;
create index import_jobs_unhappy on import_jobs (status, created_at desc, id desc) where status in ('failed', 'cancelled');
create index receipt_recent on receipt (requested_at desc, id desc);
