import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { DataSource } from 'typeorm';
import { DependencyUnavailable } from '../errors/app-error.js';
import { Database } from './database.js';
import { dataSourceOptions } from './data-source-options.js';

describe('Database', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
    await open.database.query('create table thing (id int primary key, name text)');
  });
  afterAll(() => open.close());

  it('answers rows and count in one shape for every kind of statement', async () => {
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

  it('prepares a named statement once and takes other values the next time', async () => {
    const statement = { name: 'thing_by_id', text: 'select name from thing where id = $1' };
    const names = [];
    for (const id of [1, 2]) names.push((await open.database.query(statement, [id])).rows);
    expect(names).toEqual([[{ name: 'y' }], [{ name: 'x' }]]);
  });

  it('keeps nothing of a transaction that throws', async () => {
    const failing = open.database.transaction(async (sql) => {
      await sql.query("insert into thing values (10, 'half')");
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect((await open.database.query('select from thing where id = 10')).count).toBe(0);
  });

  it('tells an error of the statement from the absence of the server', async () => {
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
    database = new Database(dataSource);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await proxy.close();
    await open.close();
  });

  it('cancels a statement that runs too long and goes on with the next', async () => {
    await expect(database.query('select pg_sleep(30)')).rejects.toBeInstanceOf(DependencyUnavailable);
    expect((await database.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('gives up on a half-open link in time, and recovers by itself when it heals', async () => {
    await database.query('select 1');
    proxy.freeze();
    const startedAt = performance.now();
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    proxy.heal();
    expect((await database.query('select 2 as two')).rows).toEqual([{ two: 2 }]);
  });

  it('rejects at once while connections are refused', async () => {
    proxy.cut();
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DependencyUnavailable);
    proxy.heal();
    expect((await database.query('select 3 as three')).count).toBe(1);
  });
});
