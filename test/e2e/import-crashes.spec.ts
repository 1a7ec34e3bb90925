import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { Pool } from '../harness/pool.js';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const ACTIVITIES = 60;
// A worker that is killed during a refresh loses the new refresh token. With this setting the simulator accepts the old token for longer
// than the dead worker's lease (12 s, or 3 hours of the vendor's time). Otherwise the athlete would have to connect again.
const vendors = { SIMULATOR_REFRESH_GRACE_SECONDS: '21600' };
const isDone = ({ status }: ImportBody) => status === 'completed';

// These tests mostly wait until the leases of dead workers end. So two tests run at a time, each in a world of its own.
describe('an import whose worker is killed', () => {
  const worlds = new Pool(2, async () => {
    const world = await World.start({ workers: 0, vendors });
    await world.pauseBackfill();
    return world;
  });
  afterAll(() => worlds.close((world) => world.stop()));

  const killTest = (name: string, run: (begun: Import) => Promise<void>) =>
    it.concurrent(
      name,
      () =>
        worlds.use(async (world) => {
          const begun = await Import.begin(world);
          await run(begun);
          for (const worker of [...world.workers]) await world.kill(worker);
        }),
      300_000,
    );

  killTest(
    'an import completes with at most one repeated call a kill if its worker is killed four times and Redis is flushed twice',
    async (one) => {
      const kills = 4;
      await one.slowCalls();
      for (let kill = 0; kill < kills; kill += 1) {
        const worker = await one.world.startWorker();
        const before = await one.stored();
        await eventually('the import stores more activities', async () => (await one.stored()) > before + 4);
        if (kill % 2 === 0) await one.world.flushRedis();
        await one.world.kill(worker);
      }
      await one.world.control('DELETE', 'faults');
      await one.finishes(kills);
    },
  );

  killTest('an import whose worker is killed during a call repeats at most that call', async (one) => {
    const { world } = one;
    // The test chooses the slow call before the worker starts. If it waited for some details first, the import could end meanwhile.
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'activity',
      kind: 'slow',
      delay_ms: 3_000,
      resource: await one.activityInTheMiddle(),
      count: 1,
    });
    const worker = await world.startWorker();
    await eventually('a call is under way', async () => {
      const { items } = await world.control<{ items: unknown[] }>('GET', 'faults');
      return items.length === 0;
    });
    await world.kill(worker);
    expect(await one.stored()).toBeGreaterThan(10);
    await one.finishes(1);
  });

  killTest(
    'an import whose worker is killed between an answer and its commit repeats at most that call',
    async (one) => {
      const { world } = one;
      const client = new pg.Client({ connectionString: world.env.DATABASE_URL });
      await client.connect();
      await one.slowCalls();
      const worker = await world.startWorker();
      await eventually('some details are stored', async () => (await one.stored()) > 10);
      // Every commit of an import updates this row. So a worker that waits for the lock of the row has the vendor's answer.
      await client.query('begin');
      await client.query('select 1 from import_jobs where id = $1 for update', [one.id]);
      await eventually('the worker waits for the row', async () => {
        const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'pacekeeper-worker' and datname = current_database()`;
        return (await world.rows(waiting)).length > 0;
      });
      await world.kill(worker);
      await client.query('rollback');
      await client.end();
      await world.control('DELETE', 'faults');
      await one.finishes(1);
    },
  );

  killTest(
    'an import completes although Redis lost the list with its tick and kept the tick itself',
    async (one) => {
      await one.world.loseLists('bull:imports');
      await one.finishes(0);
    },
  );

  killTest('an import whose worker is killed after its commits repeats no call', async (one) => {
    const { world } = one;
    await one.slowCalls();
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await one.stored()) > 10);
    // From here on no call gets a permit. Once the import waits for a window, every answered call is committed.
    const redis = new Redis(world.env.REDIS_URL ?? '', { keyPrefix: world.env.REDIS_KEY_PREFIX });
    const untilMs = Date.now() + 60_000;
    await redis.set('strava:rate:closed', `${untilMs} 0`, 'PXAT', untilMs);
    const quiet = `select 1 from import_jobs where id = $1 and status = 'rate_limited'`;
    await eventually(
      'the import waits for a window',
      async () => (await world.rows(quiet, [one.id])).length > 0,
    );
    await world.kill(worker);
    await world.control('DELETE', 'faults');
    await redis.del('strava:rate:closed');
    redis.disconnect();
    await world.rows('update import_jobs set retry_after = now() where id = $1', [one.id]);
    await one.finishes(0);
  });
});

interface Stored {
  readonly status: string;
  readonly error: string | null;
  readonly n: number;
}

/** The import of an athlete who has just connected; no worker runs yet. */
class Import {
  private constructor(
    readonly world: World,
    readonly athlete: string,
    private readonly vendorId: string,
    readonly id: string,
    private readonly duplicatesBefore: number,
  ) {}

  static async begin(world: World): Promise<Import> {
    const { duplicate_requests } = await world.stravaStats();
    const athlete = randomUUID();
    const vendorId = await world.vendorAthlete(ACTIVITIES);
    await world.connect(athlete, vendorId);
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    return new Import(world, athlete, vendorId, body.id, duplicate_requests);
  }

  /** Makes each call for details take 100 ms. Otherwise the import could end before the test kills the worker. */
  async slowCalls(): Promise<void> {
    const slow = { vendor: 'strava', endpoint: 'activity', kind: 'slow', delay_ms: 100 };
    await this.world.control('POST', 'faults', slow);
  }

  /** The id at Strava of an activity that the import fetches after many others and before many others. */
  async activityInTheMiddle(): Promise<string> {
    const path = `athletes/strava/${this.vendorId}`;
    const { activities } = await this.world.control<{ activities: Array<{ id: string }> }>('GET', path);
    const middle = activities[ACTIVITIES / 2];
    if (!middle) throw new Error('The athlete has too few activities');
    return middle.id;
  }

  /** The number of stored activities. Throws with the reason once the import has failed. */
  async stored(): Promise<number> {
    const stored = `
      select status, error,
        (select count(*)::int from activity where athlete_id = $1 and detail_status = 'stored') as n
      from import_jobs
      where id = $2`;
    const [counted] = await this.world.rows<Stored>(stored, [this.athlete, this.id]);
    if (!counted || counted.status === 'failed') throw new Error(`The import failed: ${counted?.error}`);
    return counted.n;
  }

  async finishes(duplicates: number): Promise<void> {
    await this.world.startWorker();
    const done = await this.world.importUntil(this.athlete, this.id, isDone);
    expect(done).toMatchObject({ activities_imported: ACTIVITIES, activities_total: ACTIVITIES });
    const stats = await this.world.stravaStats();
    expect(stats.over_limit).toBe(0);
    expect(stats.by_status['429'] ?? 0).toBe(0);
    expect(stats.duplicate_requests - this.duplicatesBefore).toBeLessThanOrEqual(duplicates);
  }
}
