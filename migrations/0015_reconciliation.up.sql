-- `asked_at` is the time of the summary, `detail_asked_at` that of the detail. Lists contain no details, so a list that was requested
-- later must not keep out a detail.
alter table activity add column detail_asked_at timestamptz;

-- For an activity that the vendor's list lacks, as long as the vendor does not say whether the activity is deleted. The activity is
-- fetched again at `confirm_after`, with growing pauses, so that the reconciliation can end without the answer.
alter table activity
  add column confirm_attempts integer not null default 0,
  add column confirm_after timestamptz;

-- Number of consecutive failed reconciliations. Each failure makes the next pause longer.
alter table strava_sync add column reconcile_failures integer not null default 0;

-- Spreads the calls of one purpose over the vendor's day: the next call may be made from `next_at` on.
create table vendor_share (
  vendor text not null,
  purpose text not null,
  next_at timestamptz not null,
  primary key (vendor, purpose)
);
