drop table athlete;
