-- A consent at the vendor waits in this row until the person has confirmed it. `code` is the vendor's code, encrypted and not exchanged.
-- `confirm_hash` is the hash of the one-time code that the confirmation must contain. `browser_hash` is set if our own page asks for the
-- confirmation; then the confirmation needs the cookie of that browser. `account` is the name, from the verified token, that the page shows
-- for the account that will see the data.
alter table oauth_flow
  add column account text,
  add column code text,
  add column scope text,
  add column confirm_hash bytea,
  add column browser_hash bytea,
  add column confirm_until timestamptz,
  add column used_at timestamptz;

create unique index oauth_flow_confirm_hash on oauth_flow (confirm_hash);

-- The id is a function of issuer and subject, so no two rows have the same pair. An athlete who was stored before an issuer was
-- configured is found once by the empty issuer, and keeps the id.
create unique index athlete_identity on athlete (issuer, subject);
