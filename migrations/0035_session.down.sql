drop table sign_in_code;
drop table session;
