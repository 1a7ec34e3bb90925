-- The difference was only in Redis and in the memory of processes. If Redis lost its state and a process that had met no answer yet rebuilt the
-- counters, then those of the vendor's present window were missing, and the vendor got up to its limit once more.
alter table vendor_budget_epoch
  add column vendor_difference_least_ms double precision not null default -1000,
  add column vendor_difference_most_ms double precision not null default 1000;
comment on column vendor_budget_epoch.vendor_difference_least_ms is
  'The clock of Redis minus that of the vendor, at least. From -1000 to 1000 means that they agree.';
comment on column vendor_budget_epoch.vendor_difference_most_ms is
  'The clock of Redis minus that of the vendor, at most.';
