-- A key of an app's backend. Only its hash is stored. SHA-256 is enough: a key has 256 random bits and cannot be guessed, so a slow hash
-- would protect nothing and would cost every request.
create table service_key (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  scopes text[] not null,
  hash bytea not null constraint service_key_hash unique,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_used_at timestamptz
);

create index service_key_created_at on service_key (created_at, id);

-- The service key or the operator that began a consent for the athlete; null if the athlete began it.
alter table oauth_flow add column begun_by text;

-- An app's backend lists all athletes by pages.
create index athlete_created_at on athlete (created_at, id);
