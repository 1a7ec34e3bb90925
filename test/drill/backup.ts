import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

/** For each table, the number of its rows and a digest of their content. */
type Contents = ReadonlyMap<string, string>;

/**
 * Writes a backup of the database to a file and returns what the backup has. Both read the same snapshot, so processes may go on writing
 * meanwhile. Needs Postgres' `pg_dump`, of the server's version or newer.
 */
export async function backUp(databaseUrl: string, file: string): Promise<Contents> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin isolation level repeatable read read only');
  const { rows } = await client.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot');
  const snapshot = `--snapshot=${rows[0]?.snapshot}`;
  await run('pg_dump', ['--format=custom', snapshot, `--file=${file}`, `--dbname=${databaseUrl}`]);
  const contents = await read(client);
  await client.end();
  return contents;
}

/** Deletes everything, as a lost disk does. */
export async function wipe(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('drop schema public cascade');
  await client.query('create schema public');
  await client.end();
}

export async function restore(databaseUrl: string, file: string): Promise<void> {
  await run('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${databaseUrl}`, file]);
}

export async function contentsOf(databaseUrl: string): Promise<Contents> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin isolation level repeatable read read only');
  const contents = await read(client);
  await client.end();
  return contents;
}

async function read(client: pg.Client): Promise<Contents> {
  const { rows: tables } = await client.query<{ name: string }>(
    "select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  );
  const contents = new Map<string, string>();
  for (const { name } of tables) {
    const { rows } = await client.query<{ digest: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(md5(row::text), '' order by md5(row::text))), '') as digest
       from ${name} as row`,
    );
    contents.set(name, rows[0]?.digest ?? '');
  }
  return contents;
}
