-- Polar issues no refresh token.
alter table connection alter column refresh_token drop not null;
select add_vendor('polar');
