drop trigger connection_removed on connection;
drop trigger connection_made on connection;

create trigger connection_made after insert or delete on connection
for each row execute function announce_connection();
