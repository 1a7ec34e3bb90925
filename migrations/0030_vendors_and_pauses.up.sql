-- No row belongs to a vendor because its writer forgot to name one.
alter table activity alter column provider drop default;
alter table activity_stream alter column source drop default;
-- Both reconciliations pause alike. `postponed_at`: a consent after this time ends the pause.
alter table activity_sync add column postponed_at timestamptz;
alter table sleep_comparison
  add column postponed_at timestamptz,
  add column reconcile_failures integer not null default 0;
