drop index athlete_created_at;
alter table oauth_flow drop column begun_by;
drop table service_key;
