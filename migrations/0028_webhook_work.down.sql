alter table webhook_subscription_keeper
  drop column failures,
  drop column due_at;
alter table webhook_event drop column outages;
