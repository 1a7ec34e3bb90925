-- Lease of the process that maintains the subscriptions at Oura.
create table oura_subscription_lease (
  only_one boolean primary key check (only_one),
  holder uuid not null,
  leased_until timestamptz not null
);

-- Position of the reconciliation of a vendor's list with our nights. The row is deleted with its connection, so the reconciliation of a
-- new connection begins with the history.
create table sleep_comparison (
  connection_id uuid primary key references connection (id) on delete cascade,
  -- Start of the last reconciliation that was completed.
  compared_at timestamptz,
  -- The reconciliation under way: its start, and the range of local dates of waking that are still to be compared, newest first.
  begun_at timestamptz,
  since date,
  until date,
  -- No worker may claim the row before this time. It is the end of a worker's lease, or the time until which the reconciliation waits
  -- for the vendor.
  next_at timestamptz not null,
  check ((begun_at is null) = (since is null) and (begun_at is null) = (until is null))
);
