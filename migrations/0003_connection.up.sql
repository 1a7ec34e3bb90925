-- The generation rises when a connection ends or the account is deleted. Each transaction that writes vendor data for an athlete checks
-- the generation, so data that arrives after the connection has ended is refused.
-- The generation comes from a sequence, because work under way may still use the number of a deleted athlete. If that athlete
-- returns, the new row must have another number.
create sequence athlete_generation;
alter table athlete add column generation bigint not null default nextval('athlete_generation');
alter sequence athlete_generation owned by athlete.generation;

-- An athlete's account at a vendor, with its tokens. Tokens are encrypted and start with the version of their key.
--
-- Refreshes are numbered. A claim of the lease raises refresh_fence by one; the new value is the number of that refresh.
-- token_fence is the number of the refresh that returned these tokens. So a late answer of an older refresh never overwrites
-- the tokens of a newer refresh.
create table connection (
  id uuid primary key default gen_random_uuid(),
  athlete_id uuid not null constraint connection_athlete references athlete (id) on delete cascade,
  provider text not null constraint connection_provider check (provider in ('strava', 'oura', 'whoop')),
  vendor_athlete_id text not null,
  scopes text[] not null,
  status text not null default 'active' constraint connection_status check (status in ('active', 'needs_reauth')),
  access_token text not null,
  refresh_token text not null,
  key_version integer not null,
  expires_at timestamptz not null,
  token_fence bigint not null default 0,
  refresh_fence bigint not null default 0,
  refresh_leased_until timestamptz,
  refresh_failed_at timestamptz,
  connected_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint connection_one_per_provider unique (athlete_id, provider),
  constraint connection_one_owner unique (provider, vendor_athlete_id)
);

-- A consent that has begun and not ended. Only the browser has the state; this row has its SHA-256.
create table oauth_flow (
  state_hash bytea primary key,
  athlete_id uuid not null constraint oauth_flow_athlete references athlete (id) on delete cascade,
  provider text not null constraint oauth_flow_provider check (provider in ('strava', 'oura', 'whoop')),
  return_url text,
  verifier text,
  expires_at timestamptz not null
);

create index oauth_flow_athlete_id on oauth_flow (athlete_id);
create index oauth_flow_expires_at on oauth_flow (expires_at);

-- A grant that has to be ended at the vendor. The row is deleted once the vendor has confirmed the end of the grant. The row outlives
-- the athlete's row and does not name the athlete.
create table revocation (
  id uuid primary key,
  provider text not null constraint revocation_provider check (provider in ('strava', 'oura', 'whoop')),
  vendor_athlete_id text not null,
  token text not null,
  key_version integer not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);

create index revocation_next_attempt_at on revocation (next_attempt_at);
create index revocation_vendor_athlete on revocation (provider, vendor_athlete_id);
