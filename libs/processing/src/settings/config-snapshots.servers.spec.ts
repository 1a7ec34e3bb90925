import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { blocksOf, plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { ConfigSnapshots } from './config-snapshots.js';

describe('ConfigSnapshots', () => {
  let open: OpenDatabase;
  let snapshots: ConfigSnapshots;
  beforeAll(async () => {
    open = await openTestDatabase();
    snapshots = new ConfigSnapshots(open.database);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await open.database.query('delete from config_snapshots');
  });

  const kept = async () => {
    const statement = 'select source, payload_json from config_snapshots order by snapshot_id';
    return (await open.database.query<{ source: string; payload_json: unknown }>(statement)).rows;
  };

  it('a config snapshot is stored only when the settings differ from the last snapshot', async () => {
    expect(await snapshots.take('worker', { concurrency: 8, leaseMs: 30_000 })).toBe(true);
    expect(await snapshots.take('worker', { leaseMs: 30_000, concurrency: 8 })).toBe(false);
    expect(await snapshots.take('worker', { concurrency: 4, leaseMs: 30_000 })).toBe(true);
    expect(await snapshots.take('worker', { concurrency: 8, leaseMs: 30_000 })).toBe(true);
    expect((await kept()).map(({ payload_json }) => payload_json)).toEqual([
      { concurrency: 8, leaseMs: 30_000 },
      { concurrency: 4, leaseMs: 30_000 },
      { concurrency: 8, leaseMs: 30_000 },
    ]);
  });

  it('five workers that start at once with the same settings store one config snapshot', async () => {
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => snapshots.take('worker', { concurrency: 8 })),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await kept()).toHaveLength(1);
  });

  it('a config snapshot is compared only with the last snapshot of its own source', async () => {
    await snapshots.take('worker', { concurrency: 8 });
    expect(await snapshots.take('api', { concurrency: 8 })).toBe(true);
  });

  it('purge deletes old config snapshots, but never the newest of each source', async () => {
    for (const concurrency of [1, 2, 3]) await snapshots.take('worker', { concurrency });
    await snapshots.take('api', { concurrency: 1 });
    await open.database.query(`update config_snapshots set created_at_utc = now() - interval '366 days'`);
    await snapshots.take('worker', { concurrency: 4 });
    expect(await snapshots.purge(365 * 86_400_000)).toBe(3);
    expect(await kept()).toEqual([
      { source: 'api', payload_json: { concurrency: 1 } },
      { source: 'worker', payload_json: { concurrency: 4 } },
    ]);
  });

  it('listing and deleting config snapshots use an index', async () => {
    await open.database.query(
      `insert into config_snapshots (source, payload_json, created_at_utc)
       select 'worker', json_build_object('n', n), now() - n * interval '1 minute' from generate_series(1, 20000) n`,
    );
    await open.database.query('vacuum analyze config_snapshots');
    const statements: ReadonlyArray<[string, readonly unknown[]]> = [
      ['list-snapshots', [null, 51]],
      ['list-snapshots', [10_000, 51]],
      ['purge-snapshots', [365 * 86_400_000, 10]],
    ];
    for (const [name, values] of statements)
      for (const plan of await plansOf(
        open.database,
        loadSql(import.meta.url, `./sql/${name}.sql`).text,
        values,
      )) {
        expect(waysInto('config_snapshots', plan)).not.toContain('all of config_snapshots');
        expect(blocksOf(plan)).toBeLessThan(100);
      }
  });
});
