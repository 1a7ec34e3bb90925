drop function remove_vendor(text);
drop function add_vendor(text);

alter table sleep_session
  add constraint sleep_session_vendor_check check (vendor in ('oura', 'whoop', 'unknown')),
  add constraint sleep_session_source_check check (source in ('ingest', 'oura', 'whoop'));
alter table webhook_event
  add constraint webhook_event_vendor_check check (vendor in ('strava', 'oura', 'whoop'));
alter table activity add constraint activity_provider_check check (provider in ('strava'));
alter table receipt
  drop constraint receipt_provider,
  add constraint receipt_provider_check check (provider in ('strava', 'oura', 'whoop'));
alter table revocation
  drop constraint revocation_provider,
  add constraint revocation_provider check (provider in ('strava', 'oura', 'whoop'));
alter table oauth_flow
  drop constraint oauth_flow_provider,
  add constraint oauth_flow_provider check (provider in ('strava', 'oura', 'whoop'));
alter table connection
  drop constraint connection_provider,
  add constraint connection_provider check (provider in ('strava', 'oura', 'whoop'));

drop table vendor;
