-- An athlete owns all data that refers to this row. If the token's subject is a UUID, the id is that UUID in lower case. Otherwise the
-- id is derived from issuer and subject. Issuer and subject are stored, so that an operator can find the account at the issuer.
create table athlete (
  id uuid primary key,
  issuer text not null,
  subject text not null,
  created_at timestamptz not null default now()
);
