drop table write_back;
alter table activity drop column imported_name;
