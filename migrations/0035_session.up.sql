-- A signed-in browser. Only the hash of the cookie's secret is stored. SHA-256 is enough: the secret has 256 random bits and cannot be guessed.
-- Issuer and subject are those of the athlete's row. A session ends at the latest with the token that began it.
create table session (
  hash bytea constraint session_pkey primary key,
  athlete_id uuid not null constraint session_athlete references athlete (id) on delete cascade,
  role text not null constraint session_role check (role in ('athlete', 'admin')),
  account text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index session_athlete_id on session (athlete_id, created_at);
create index session_expires_at on session (expires_at);

-- A code that signs in once as the person who made it. The row is deleted by its use. `token_expires_at` is the end of the person's token: the
-- session of the code ends no later.
create table sign_in_code (
  hash bytea constraint sign_in_code_pkey primary key,
  athlete_id uuid not null constraint sign_in_code_athlete references athlete (id) on delete cascade,
  role text not null constraint sign_in_code_role check (role in ('athlete', 'admin')),
  account text not null,
  expires_at timestamptz not null,
  token_expires_at timestamptz not null
);

create index sign_in_code_athlete_id on sign_in_code (athlete_id);
create index sign_in_code_expires_at on sign_in_code (expires_at);
