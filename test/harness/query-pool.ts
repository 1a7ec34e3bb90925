import pg from 'pg';

/** For a test's own questions. */
export function queryPool(connectionString: string | undefined, max = 1): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  // `end` does not wait for the server, whose last word about a database that is dropped then would end the whole file.
  pool.on('error', () => undefined);
  return pool;
}
