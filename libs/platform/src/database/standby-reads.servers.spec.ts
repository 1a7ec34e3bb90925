import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { register } from 'prom-client';
import { DataSource } from 'typeorm';
import { eventually } from '../../../../test/harness/eventually.js';
import { PostgresServer } from '../../../../test/harness/postgres-server.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { createLogger } from '../logging/logger.js';
import { dataSourceOptions } from './data-source-options.js';
import { Database, poolOf } from './database.js';
import { Primary } from './primary.js';
import { StandbyReads } from './standby-reads.js';
import { Standby } from './standby.js';

const LIMITS = { applicationName: 'test', poolSize: 3, statementTimeoutMs: 3_000 };
const TIMES = { heartbeatMs: 100, mostLagMs: 1_000 };
const silent = createLogger({ level: 'silent', process: 'test' });

// The tests are in the order of the servers' lives: the last ones promote the standby.
describe('a primary and its standby', () => {
  let one: PostgresServer;
  let two: PostgresServer;
  let primary: Primary;
  let dataSource: DataSource;
  let database: Database;
  let reads: StandbyReads;
  let close: Array<() => Promise<unknown>>;
  beforeAll(async () => {
    // A conflict of a read with the replay cancels the read at once.
    one = await PostgresServer.start();
    two = await one.standby({ more: ['max_standby_streaming_delay=0'] });
    await one.waitForStandby();
    const url = `postgres://postgres@127.0.0.1:${two.port},127.0.0.1:${one.port}/postgres?target_session_attrs=read-write`;
    primary = new Primary(url);
    const options = dataSourceOptions(url, LIMITS, () => undefined, { primary });
    dataSource = await new DataSource(options).initialize();
    database = new Database(poolOf(dataSource), { primary });
    await database.query('create table thing (id int primary key, version text)');
    await database.query("insert into thing select n, 'v1' from generate_series(1, 1000) as n");
    reads = readsFrom(two.url);
    close = [() => reads.onApplicationShutdown()];
    await untilUsable(reads);
  });
  afterAll(async () => {
    await Promise.all(close.map((end) => end()));
    await dataSource.destroy();
    await Promise.all([one.stop(), two.stop()]);
  });
  beforeEach(() => register.getSingleMetric('database_standby_reads_total')?.reset());

  const readsFrom = (url: string) =>
    new StandbyReads(database, new Standby(url, LIMITS, database, silent, { times: TIMES }));
  const whereAmI = { text: 'select pg_is_in_recovery() as is_standby' };
  const isFromStandby = async (from: StandbyReads) =>
    (await from.current<{ is_standby: boolean }>(whereAmI, [])).rows[0]?.is_standby;
  const untilUsable = (from: StandbyReads) =>
    eventually('the standby is read', async () => (await isFromStandby(from)) === true);
  const results = async (): Promise<Record<string, number>> => {
    const metric = await register.getSingleMetric('database_standby_reads_total')?.get();
    const values = metric?.values ?? [];
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['result']), value] as const));
  };
  const versionOf = (id: number, version: string) =>
    reads.versions(
      { text: 'select version, pg_is_in_recovery() as is_standby from thing where id = $1 and version = $2' },
      [id, version],
    );

  it('finds the server that takes writes, whatever its place in the list', async () => {
    expect(await primary.find()).toContain(`:${one.port}/`);
    expect((await database.query(whereAmI)).rows).toEqual([{ is_standby: false }]);
  });

  it('a list that is read from the standby has the row that its reader has just written', async () => {
    for (let id = 2_000; id < 2_100; id += 1) {
      await database.query("insert into thing values ($1, 'v1')", [id]);
      const { rows } = await reads.current(
        { text: 'select id from thing where id >= 2000 order by id desc limit 1' },
        [],
      );
      expect(rows).toEqual([{ id }]);
    }
    expect((await results())['standby']).toBeGreaterThan(0);
  });

  it('while the standby is behind, a list is read from the primary, and a row from the standby if it has the requested version', async () => {
    await two.query('select pg_wal_replay_pause()');
    await database.query("insert into thing values (3000, 'v1')");
    expect(await isFromStandby(reads)).toBe(false);
    expect((await versionOf(1, 'v1')).rows).toEqual([{ version: 'v1', is_standby: true }]);
    expect((await versionOf(3_000, 'v1')).rows).toEqual([{ version: 'v1', is_standby: false }]);
    expect(await results()).toEqual({ behind: 1, standby: 1, lacking: 1 });
    await eventually('the standby is late', async () => {
      await versionOf(1, 'v1');
      return ((await results())['late'] ?? 0) > 0;
    });
    await two.query('select pg_wal_replay_resume()');
    await untilUsable(reads);
  });

  it('a read that the standby cancels, because it conflicts with the replay, is answered by the primary', async () => {
    const slow = {
      text: `select count(*)::int as things, pg_is_in_recovery() as is_standby,
        case when pg_is_in_recovery() then pg_sleep(0.7)::text end as nothing from thing`,
    };
    const reading = reads.versions<{ things: number; is_standby: boolean }>(slow, []);
    await eventually('the statement runs on the standby', async () => {
      const { rows } = await two.query(
        "select from pg_stat_activity where query like '%pg_sleep(0.7)%' and pid <> pg_backend_pid()",
      );
      return rows.length > 0;
    });
    await database.query('truncate thing');
    expect((await reading).rows).toEqual([{ things: 0, is_standby: false, nothing: null }]);
    expect(await results()).toEqual({ failed: 1 });
  });

  it('a server that is no standby, and one that is away, are not read', async () => {
    for (const url of [one.url, 'postgres://postgres@127.0.0.1:9/postgres']) {
      const wrong = readsFrom(url);
      close.push(() => wrong.onApplicationShutdown());
      await eventually('it is found out', async () => {
        await isFromStandby(wrong);
        return ((await results())['away'] ?? 0) > 0;
      });
      expect(await isFromStandby(wrong)).toBe(false);
      register.getSingleMetric('database_standby_reads_total')?.reset();
    }
  });

  it('a pool leaves a primary that refuses writes, also its idle connections, and finds the promoted standby within 10 s', async () => {
    await database.query("insert into thing values (1, 'before')");
    // Three connections that are idle afterwards.
    await Promise.all([1, 2, 3].map(() => database.query('select pg_sleep(0.05)')));
    await two.promote();
    // The old primary is alive and read-only: it would still answer reads.
    await one.query("alter system set synchronous_standby_names = ''");
    await one.query('alter system set default_transaction_read_only = on');
    await one.query('select pg_reload_conf()');
    await eventually('the old primary is read-only', async () => {
      const client = new pg.Client({ connectionString: one.url });
      await client.connect();
      const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
      await client.end();
      return rows[0]?.transaction_read_only === 'on';
    });
    const startedAt = performance.now();
    await expect(
      eventually('a write', () =>
        database.query("insert into thing values (2, 'after') on conflict do nothing"),
      ),
    ).resolves.toBeDefined();
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const seen = await Promise.all(
      [1, 2, 3, 4, 5].map(() => database.query('select id from thing order by id')),
    );
    for (const { rows } of seen) expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await primary.find()).toContain(`:${two.port}/`);
    expect(await isFromStandby(reads)).toBe(false);
  });

  it('the primary is the server that was promoted last if two servers take writes', async () => {
    await one.query('alter system reset default_transaction_read_only');
    await one.kill();
    await one.start();
    const both = new Primary(primary.url.replace(/127[^/]*/, `127.0.0.1:${one.port},127.0.0.1:${two.port}`));
    expect(await both.find()).toContain(`:${two.port}/`);
  });

  it('a statement that may take long ends soon if its primary freezes', async () => {
    const patient = dataSourceOptions(
      primary.url,
      { ...LIMITS, statementTimeoutMs: 60_000 },
      () => undefined,
      { primary },
    );
    const pool = await new DataSource(patient).initialize();
    const slow = new Database(poolOf(pool), { primary }).query('select pg_sleep(50)');
    await eventually('it runs', async () => {
      const { rows } = await two.query("select from pg_stat_activity where query = 'select pg_sleep(50)'");
      return rows.length > 0;
    });
    two.signalAll('SIGSTOP');
    const startedAt = performance.now();
    await expect(slow).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    two.signalAll('SIGCONT');
    await pool.destroy();
  });

  it('throws DependencyUnavailable while no server takes writes', async () => {
    await Promise.all([one.kill(), two.kill()]);
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DependencyUnavailable);
    await expect(new Primary(primary.url).find()).rejects.toThrow(
      new RegExp(`^no server takes writes \\(.*:${two.port}: .*ECONNREFUSED`),
    );
  });
});
