import pg from 'pg';

/** A database pool for the test's own queries. */
export function queryPool(connectionString: string | undefined, max = 1): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  // `end` does not wait for the server. If the database is dropped meanwhile, the pool emits an error that would end the test file.
  pool.on('error', () => undefined);
  return pool;
}
