import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { Pool } from '../harness/pool.js';
import { type ImportBody, World } from '../harness/world.js';

const ACTIVITIES = 60;
const isDone = ({ status }: ImportBody) => status === 'completed';

// Most of this is waiting for what a dead worker has leased, so two are lived through at a time, each in a world of its own.
describe('an import whose worker is killed', () => {
  const worlds = new Pool(2, async () => {
    const world = await World.start({ workers: 0 });
    await world.withoutBackfill();
    return world;
  });
  afterAll(() => worlds.close((world) => world.stop()));

  const killed = (name: string, story: (killed: Import) => Promise<void>) =>
    it.concurrent(
      name,
      () =>
        worlds.use(async (world) => {
          const begun = await Import.begin(world);
          await story(begun);
          for (const worker of [...world.workers]) await world.kill(worker);
        }),
      300_000,
    );

  killed('again and again, with Redis losing all it knows, loses and doubles nothing', async (one) => {
    const kills = 4;
    // Or all would be here before the last of them.
    const slow = { vendor: 'strava', endpoint: 'activity', kind: 'slow', delay_ms: 100 };
    await one.world.control('POST', 'faults', slow);
    for (let kill = 0; kill < kills; kill += 1) {
      const worker = await one.world.startWorker();
      const before = await one.stored();
      await eventually('it gets further', async () => (await one.stored()) > before + 4);
      if (kill % 2 === 0) await one.world.forgetRedis();
      await one.world.kill(worker);
    }
    await one.world.control('DELETE', 'faults');
    await one.finishes(kills);
  });

  killed('during a call makes that call again, and no other', async (one) => {
    const { world } = one;
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await one.stored()) > 10);
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'activity',
      kind: 'slow',
      delay_ms: 3_000,
      count: 1,
    });
    await eventually('a call is under way', async () => {
      const { items } = await world.control<{ items: unknown[] }>('GET', 'faults');
      return items.length === 0;
    });
    await world.kill(worker);
    await one.finishes(1);
  });

  killed('between the answer and the rows makes that call again, and no other', async (one) => {
    const { world } = one;
    const client = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await client.connect();
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await one.stored()) > 10);
    // The row that every commit of an import touches: the worker has its answer and waits.
    await client.query('begin');
    await client.query('select 1 from import_jobs where id = $1 for update', [one.id]);
    await eventually('the worker waits for the row', async () => {
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'pacekeeper-worker' and datname = current_database()`;
      return (await world.rows(waiting)).length > 0;
    });
    await world.kill(worker);
    await client.query('rollback');
    await client.end();
    await one.finishes(1);
  });

  killed('after the rows makes no call again', async (one) => {
    const { world } = one;
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await one.stored()) > 10);
    // No call gets a permit, so whatever has been answered is committed.
    const redis = new Redis(world.env.REDIS_URL ?? '', { keyPrefix: world.env.REDIS_KEY_PREFIX });
    const untilMs = Date.now() + 60_000;
    await redis.set('strava:rate:closed', `${untilMs} 0`, 'PXAT', untilMs);
    const quiet = `select 1 from import_jobs where id = $1 and status = 'rate_limited'`;
    await eventually('it waits', async () => (await world.rows(quiet, [one.id])).length > 0);
    await world.kill(worker);
    await redis.del('strava:rate:closed');
    redis.disconnect();
    await world.rows('update import_jobs set retry_after = now() where id = $1', [one.id]);
    await one.finishes(0);
  });
});

/** Of an athlete just connected, and nobody works on it yet. */
class Import {
  private constructor(
    readonly world: World,
    readonly athlete: string,
    readonly id: string,
    private readonly duplicatesBefore: number,
  ) {}

  static async begin(world: World): Promise<Import> {
    const { duplicate_requests } = await world.stravaStats();
    const athlete = randomUUID();
    await world.connect(athlete, await world.vendorAthlete(ACTIVITIES));
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    return new Import(world, athlete, body.id, duplicate_requests);
  }

  async stored(): Promise<number> {
    const stored = `select count(*)::int as n from activity where athlete_id = $1 and detail_status = 'stored'`;
    const [counted] = await this.world.rows<{ n: number }>(stored, [this.athlete]);
    return counted?.n ?? 0;
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
