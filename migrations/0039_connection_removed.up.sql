-- `connection.removed` stands for all rows of the vendor, so it comes with the last of them and not with the connection: a reader who copies
-- an athlete's activities in between would keep those that no later change names. The deletion writes it (libs/account/src/deletions.ts).
drop trigger connection_made on connection;

create trigger connection_made after insert on connection
for each row execute function announce_connection();

create trigger connection_removed after delete on connection
for each row when (deletion_of() <> 'vendor')
execute function announce_connection();
