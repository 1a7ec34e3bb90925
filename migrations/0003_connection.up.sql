-- Rises when a connection is cut or the account deleted. Whoever writes vendor data for an athlete checks it in the same
-- transaction, so that what a cut connection still delivers is refused.
-- From a sequence: an athlete who is deleted and comes back must not get a number that work under way still holds.
create sequence athlete_generation;
alter table athlete add column generation bigint not null default nextval('athlete_generation');
alter sequence athlete_generation owned by athlete.generation;

-- An athlete's account at a vendor, with its tokens. Tokens are encrypted and start with the version of their key.
--
-- Refreshes are numbered: a claim of the lease takes the next refresh_fence, and token_fence is the number of the one
-- whose answer the tokens are. So an older answer never overwrites a newer one, however late it comes.
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

-- A consent under way. The state itself is with the browser only; here is its SHA-256.
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

-- A grant that is to end at the vendor, kept until the vendor has heard of it. It outlives the athlete's row and does not
-- name the athlete.
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
