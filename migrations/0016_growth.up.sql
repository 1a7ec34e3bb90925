-- The vendor's limits from its newest answers, keyed by the names of the counters: `{"read 15min": 100}`. They are stored with the epoch
-- because a changed limit begins a new epoch. No call is recorded under an older limit, and a call that is not recorded is not made.
alter table vendor_budget_epoch add column limits jsonb not null default '{}';

-- The backfill reads one athlete's activities, newest first. So the index without the athlete is dropped, and each fetch writes one
-- index less. The index with the athlete gets the name of the dropped index.
drop index ix_activity_stream_backfill_eligible;
alter index ix_activity_stream_backfill_athlete rename to ix_activity_stream_backfill_eligible;

-- The table has only owners with waiting events. An owner is served at `turn_at`. It is never before the owner's first event is due, and
-- it is after the `turn_at` of owners who have waited longer. While a worker handles the events, `turn_at` is the end of the lease. So a
-- claim reads one index entry, however many events wait.
delete from webhook_owner
where not exists (
  select 1
  from webhook_event
  where webhook_event.vendor = webhook_owner.vendor
    and webhook_event.owner_id = webhook_owner.owner_id
    and processed_at is null
);
update webhook_owner set lease = null;
alter table webhook_owner
  drop column leased_until,
  drop column served_at,
  add column turn_at timestamptz not null default clock_timestamp();
create index webhook_owner_turn on webhook_owner (vendor, turn_at);

-- Waiting events of one owner, in the order of their due times.
create index webhook_event_due on webhook_event (vendor, owner_id, next_attempt_at, id) where processed_at is null;
drop index webhook_event_waiting;
