drop index sleep_session_date;
