drop table webhook_subscription;
drop table webhook_owner;
drop table webhook_event;
