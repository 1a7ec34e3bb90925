-- The vendor's or our own outages since the last attempt that counted. They lengthen the pauses and cost no attempt.
alter table webhook_event add column outages integer not null default 0;

-- A vendor's subscriptions are work like any other: checked when they are due, and postponed after failures in a row.
alter table webhook_subscription_keeper
  add column due_at timestamptz not null default now(),
  add column failures integer not null default 0;
