do $$
begin
  execute format('alter database %I reset jit', current_database());
exception
  when insufficient_privilege then raise notice 'jit stays as it is: the role does not own the database';
end
$$;
