drop table revocation;
drop table oauth_flow;
drop table connection;
alter table athlete drop column generation;
