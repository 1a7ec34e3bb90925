-- Vendors end all grants of an account at once, so one that somebody has connected is left alone.
insert into revocation (id, provider, vendor_athlete_id, token, key_version)
select $1, $2, $3, $4, $5
where not exists (select from connection where provider = $2 and vendor_athlete_id = $3)
