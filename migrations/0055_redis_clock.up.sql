-- While Redis is away the ledger counts the calls of a window by the clock of Postgres, and Redis had named the windows before. Where the two
-- clocks differ, the ledger found another window with no call in it. So the difference is kept, as of the last time that a process met Redis.
alter table vendor_budget_epoch add column redis_ahead_ms double precision not null default 0;
comment on column vendor_budget_epoch.redis_ahead_ms is
  'The clock of Redis minus that of Postgres; 0 if they differed by less than a second.';
