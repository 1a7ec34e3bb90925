create table oura_subscription_lease (
  only_one boolean primary key check (only_one),
  holder uuid not null,
  leased_until timestamptz not null
);
drop table webhook_subscription_keeper;

delete from webhook_subscription where topic <> 'all';
alter table webhook_subscription
  drop constraint webhook_subscription_pkey,
  add primary key (vendor),
  drop column key_version,
  drop column secret,
  drop column topic;

drop index webhook_event_open;

alter table webhook_owner
  drop column leased_until,
  drop column fence,
  add column lease uuid;
drop sequence webhook_owner_fence;
