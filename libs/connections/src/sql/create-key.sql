-- Returns no row if as many keys as allowed ($4) are in use.
insert into service_key (name, scopes, hash)
select $1, $2::text[], $3::bytea
where (select count(*) from service_key where revoked_at is null) < $4::integer
returning id
