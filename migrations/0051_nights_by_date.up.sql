-- The retention of nights finds them by their date.
create index sleep_session_date on sleep_session (date);
