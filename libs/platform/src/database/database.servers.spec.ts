import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { DataSource } from 'typeorm';
import { DependencyUnavailable } from '../errors/app-error.js';
import { Database, poolOf } from './database.js';
import { dataSourceOptions } from './data-source-options.js';

describe('Database', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
    await open.database.query('create table thing (id int primary key, name text)');
  });
  afterAll(() => open.close());

  it('Database returns rows and count for every kind of statement', async () => {
    const { database } = open;
    const insert = "insert into thing values (1, 'a'), (2, 'b')";
    expect(await database.query(insert)).toEqual({ rows: [], count: 2 });
    expect(await database.query("insert into thing values (3, 'c') returning id")).toEqual({
      rows: [{ id: 3 }],
      count: 1,
    });
    expect(await database.query('select id from thing order by id')).toEqual({
      rows: [{ id: 1 }, { id: 2 }, { id: 3 }],
      count: 3,
    });
    expect(await database.query("update thing set name = 'x' where id > 1")).toEqual({ rows: [], count: 2 });
    expect(await database.query("update thing set name = 'y' where id = 1 returning name")).toEqual({
      rows: [{ name: 'y' }],
      count: 1,
    });
    const cte = 'with gone as (delete from thing where id = 3 returning id) select id from gone';
    expect(await database.query(cte)).toEqual({ rows: [{ id: 3 }], count: 1 });
    expect(await database.query('update thing set id = id where false')).toEqual({ rows: [], count: 0 });
  });

  it('Database runs a named statement twice with different values', async () => {
    const statement = { name: 'thing_by_id', text: 'select name from thing where id = $1' };
    const names = [];
    for (const id of [1, 2]) names.push((await open.database.query(statement, [id])).rows);
    expect(names).toEqual([[{ name: 'y' }], [{ name: 'x' }]]);
  });

  it.each([
    ['26000, a prepared statement is missing', 'thing_lost', 'deallocate all'],
    ['42P05, the name of a prepared statement is taken', 'thing_there', 'prepare thing_there as select 1'],
  ])(
    'Database throws DependencyUnavailable if a pooler mixed up connections (%s), and uses another connection afterwards',
    async (_, name, mixUp) => {
      const one = await openPool(open.url, [], { poolSize: 1 });
      const statement = { name, text: 'select count(*)::int as things from thing' };
      const backend = async () =>
        (await one.database.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
      if (mixUp.startsWith('deallocate')) await one.database.query(statement);
      const before = await backend();
      await one.database.query(mixUp);
      await expect(one.database.query(statement)).rejects.toBeInstanceOf(DependencyUnavailable);
      expect((await one.database.query(statement)).count).toBe(1);
      expect(await backend()).not.toBe(before);
      await one.close();
    },
  );

  it('Database rolls back a transaction that throws', async () => {
    const failing = open.database.transaction(async (sql) => {
      await sql.query("insert into thing values (10, 'half')");
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect((await open.database.query('select from thing where id = 10')).count).toBe(0);
  });

  it('Database throws DependencyUnavailable for a lost connection, and the error of Postgres for a wrong statement', async () => {
    await expect(open.database.query("insert into thing values (1, 'again')")).rejects.toMatchObject({
      code: '23505',
    });
    const terminate = 'select pg_terminate_backend(pg_backend_pid())';
    await expect(open.database.query(terminate)).rejects.toBeInstanceOf(DependencyUnavailable);
    expect((await open.database.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

describe('Database behind a link that breaks', () => {
  let open: OpenDatabase;
  let proxy: Proxy;
  let dataSource: DataSource;
  let database: Database;
  beforeAll(async () => {
    open = await openTestDatabase();
    proxy = await Proxy.before(open.url);
    const limits = { applicationName: 'test', poolSize: 2, statementTimeoutMs: 1_500 };
    dataSource = await new DataSource(dataSourceOptions(proxy.url, limits, () => undefined)).initialize();
    database = new Database(poolOf(dataSource));
  });
  afterAll(async () => {
    await dataSource.destroy();
    await proxy.close();
    await open.close();
  });

  it('Database cancels a statement that runs too long, and runs the next statement', async () => {
    await expect(database.query('select pg_sleep(30)')).rejects.toBeInstanceOf(DependencyUnavailable);
    expect((await database.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('Database fails a statement on a frozen link within 10 s, and works again when the link heals', async () => {
    await database.query('select 1');
    proxy.freeze();
    const startedAt = performance.now();
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    proxy.heal();
    expect((await database.query('select 2 as two')).rows).toEqual([{ two: 2 }]);
  });

  it('Database throws DependencyUnavailable while Postgres refuses connections, and works again afterwards', async () => {
    proxy.cut();
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DependencyUnavailable);
    proxy.heal();
    expect((await database.query('select 3 as three')).count).toBe(1);
  });
});
