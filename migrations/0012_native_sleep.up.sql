-- Who sees to Oura's subscriptions just now.
create table oura_subscription_lease (
  only_one boolean primary key check (only_one),
  holder uuid not null,
  leased_until timestamptz not null
);

-- How far the comparison of a vendor's list with our nights is. It goes with its connection: one that is made anew begins
-- with the history.
create table sleep_comparison (
  connection_id uuid primary key references connection (id) on delete cascade,
  -- When the last one that came to its end was begun.
  compared_at timestamptz,
  -- Of the one under way, by local dates of waking: what is left is from the one to the other, newest first.
  begun_at timestamptz,
  since date,
  until date,
  -- Until then somebody is at it, or it waits for the vendor.
  next_at timestamptz not null,
  check ((begun_at is null) = (since is null) and (begun_at is null) = (until is null))
);
