-- The person whose data this is. The id is the token's subject where that is a UUID, else derived from issuer and subject;
-- both are kept, so that it can always be told which account at the issuer an athlete is.
create table athlete (
  id uuid primary key,
  issuer text not null,
  subject text not null,
  created_at timestamptz not null default now()
);
