-- Fails as long as a row of another table references Polar.
select remove_vendor('polar');
alter table connection alter column refresh_token set not null;
