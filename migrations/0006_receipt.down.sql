drop table receipt;
