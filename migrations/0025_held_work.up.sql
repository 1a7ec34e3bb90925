-- One convention for every table whose rows workers hold: `leased_until` is the end of the lease (null: no worker holds the row), and
-- `fence` rises with every claim. A write of a worker whose lease has ended has an older fence and changes nothing.

-- True if no worker holds the row. By now(), so that Postgres uses indexes; in a long transaction a lease then seems to end later.
create function is_free(leased_until timestamptz) returns boolean
language sql stable
return leased_until is null or leased_until <= now();

-- The end of a lease of `ms` milliseconds that begins now.
create function lease_end(ms double precision) returns timestamptz
language sql volatile
return clock_timestamp() + ms * interval '1 millisecond';

alter table import_jobs rename column turn to fence;

alter table receipt add column fence bigint not null default 0;
alter table dead_letter_order add column fence bigint not null default 0;

-- Until now the time of the next attempt was also the end of the lease. A row that a worker holds at this moment is claimed again then.
alter table revocation
  add column leased_until timestamptz,
  add column fence bigint not null default 0;
alter table sleep_comparison
  add column leased_until timestamptz,
  add column fence bigint not null default 0;
alter table strava_sync
  add column leased_until timestamptz,
  add column fence bigint not null default 0;
