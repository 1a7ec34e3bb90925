-- Without these indexes a claim of a reconciliation and a scrape of a worker read a row of each athlete.
create index activity_sync_oldest on activity_sync (provider, (coalesce(reconciled_at, last_sync_at)));
create index connection_ending on connection (expires_at) where refresh_token is null;
