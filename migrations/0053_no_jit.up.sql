-- Postgres compiles a statement whose estimated cost is high. The sweeps over 100,000 athletes then took 0.1 to 0.5 s longer, and no
-- statement here runs long enough to win that back. The setting belongs to the database, because a pooler refuses it at the connection.
do $$
begin
  execute format('alter database %I set jit = off', current_database());
exception
  -- Only the owner of the database may do this. It is a matter of speed alone.
  when insufficient_privilege then raise notice 'jit stays as it is: the role does not own the database';
end
$$;
