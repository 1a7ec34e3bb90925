-- Two workers may hold an owner one after the other; the number tells their writes apart. It comes from a sequence, since the row is deleted
-- while no event waits. `turn_at` is only when the owner is due, no longer the end of a lease.
create sequence webhook_owner_fence;
alter table webhook_owner
  drop column lease,
  add column fence bigint not null default 0,
  add column leased_until timestamptz;

-- Strava reports a deauthorization as an update of the athlete; it is kept as a delete now.
update webhook_event
set aspect = 'delete'
where vendor = 'strava'
  and object_type = 'athlete'
  and processed_at is null
  and raw ~ '"authorized"\s*:\s*"false"';

-- For the list of operators: waiting events, and events that were set aside.
create index webhook_event_open on webhook_event (vendor, id) where processed_at is null or outcome = 'set_aside';

-- One subscription for each topic of a vendor.
alter table webhook_subscription
  add column topic text not null default 'all',
  -- The secret that the vendor signs events with, sealed; null if it signs with the client's secret or not at all.
  add column secret text,
  add column key_version integer,
  drop constraint webhook_subscription_pkey,
  add primary key (vendor, topic);
alter table webhook_subscription alter column topic drop default;

-- The worker that maintains a vendor's subscriptions.
create table webhook_subscription_keeper (
  vendor text primary key,
  fence bigint not null,
  leased_until timestamptz
);
drop table oura_subscription_lease;
