import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { ConfigSnapshots } from './config-snapshots.js';

describe('a snapshot of the settings', () => {
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

  it('is kept when they have changed, and only then', async () => {
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

  it('is one, however many begin with the same at once', async () => {
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => snapshots.take('worker', { concurrency: 8 })),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await kept()).toHaveLength(1);
  });

  it('is compared with those of its own source', async () => {
    await snapshots.take('worker', { concurrency: 8 });
    expect(await snapshots.take('api', { concurrency: 8 })).toBe(true);
  });
});
