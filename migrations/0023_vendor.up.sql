-- The vendors, with the ids of the registry (libs/vendors). A new vendor is one migration: `select add_vendor('id')`.
create table vendor (
  id text constraint vendor_pkey primary key
);
insert into vendor (id) values ('strava'), ('oura'), ('whoop');

-- Rows that one act of a person writes refer to the vendor.
alter table connection
  drop constraint connection_provider,
  add constraint connection_provider foreign key (provider) references vendor (id);
alter table oauth_flow
  drop constraint oauth_flow_provider,
  add constraint oauth_flow_provider foreign key (provider) references vendor (id);
alter table revocation
  drop constraint revocation_provider,
  add constraint revocation_provider foreign key (provider) references vendor (id);
alter table receipt
  drop constraint receipt_provider_check,
  add constraint receipt_provider foreign key (provider) references vendor (id);

-- Rows that are written in bulk have no foreign key. Each inserting transaction would lock the same row of `vendor`, and each lock beside
-- another is a new multixact that lists all of them: with eight writers, a third fewer rows in bulk, and a multixact for each single insert.
-- Such a row belongs to a connection, or to a webhook of a vendor of the registry.
alter table activity drop constraint activity_provider_check;
alter table webhook_event drop constraint webhook_event_vendor_check;
-- The source may also be `ingest`, and the vendor of such a night `unknown`.
alter table sleep_session
  drop constraint sleep_session_source_check,
  drop constraint sleep_session_vendor_check;

-- Adds a vendor: its row, its budget's epoch, and its ledger of calls with the shape that Strava's has.
create function add_vendor(new_id text) returns void
language plpgsql
as $$
declare
  ledger constant text := new_id || '_api_requests';
begin
  insert into vendor (id) values (new_id);
  insert into vendor_budget_epoch (vendor, epoch) values (new_id, 0);
  execute format('create table %I (like strava_api_requests including all)', ledger);
  execute format('alter table %I add foreign key (user_id) references athlete (id) on delete set null', ledger);
end
$$;

-- Fails as long as a row of another table references the vendor.
create function remove_vendor(old_id text) returns void
language plpgsql
as $$
begin
  delete from vendor where id = old_id;
  delete from vendor_budget_epoch where vendor = old_id;
  execute format('drop table %I', old_id || '_api_requests');
end
$$;
