create index webhook_event_waiting on webhook_event (vendor, id) where processed_at is null;
drop index webhook_event_due;
drop index webhook_owner_turn;
alter table webhook_owner
  drop column turn_at,
  add column leased_until timestamptz,
  add column served_at timestamptz not null default '-infinity';
update webhook_owner set lease = null;

alter index ix_activity_stream_backfill_eligible rename to ix_activity_stream_backfill_athlete;
create index ix_activity_stream_backfill_eligible on activity (start_time)
  where stream_fetch_status in ('pending', 'failed', 'deferred') and external_activity_id is not null;

alter table vendor_budget_epoch drop column limits;
