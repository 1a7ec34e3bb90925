alter table vendor_budget_epoch drop column redis_ahead_ms;
