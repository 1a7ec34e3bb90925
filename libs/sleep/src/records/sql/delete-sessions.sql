delete from sleep_session
where ctid in (select ctid from sleep_session where user_id = $1 and source = $2 limit $3)
returning user_id, to_char(date, 'YYYY-MM-DD') as date, null as event_id
