import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type ImportBody, World } from '../harness/world.js';

const ACTIVITIES = 60;
const isDone = ({ status }: ImportBody) => status === 'completed';

describe('an import whose worker is killed', () => {
  let world: World;
  let athlete: string;
  let importId: string;
  beforeEach(async () => {
    world = await World.start({ workers: 0 });
    await world.withoutBackfill();
    athlete = randomUUID();
    await world.connect(athlete, await world.vendorAthlete(ACTIVITIES));
    importId = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body.id;
  });
  afterEach(() => world.stop());

  const stored = async () =>
    (
      await world.rows<{ n: number }>(
        `select count(*)::int as n from activity where detail_status = 'stored'`,
      )
    )[0]?.n ?? 0;

  async function finishes(duplicates: number): Promise<void> {
    await world.startWorker();
    const done = await world.importUntil(athlete, importId, isDone);
    expect(done).toMatchObject({ activities_imported: ACTIVITIES, activities_total: ACTIVITIES });
    const stats = await world.stravaStats();
    expect(stats.over_limit).toBe(0);
    expect(stats.by_status['429'] ?? 0).toBe(0);
    expect(stats.duplicate_requests).toBeLessThanOrEqual(duplicates);
  }

  it('during a call makes that call again, and no other', async () => {
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await stored()) > 10);
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'activity',
      kind: 'slow',
      delay_ms: 3_000,
      count: 1,
    });
    await eventually('a call is under way', async () => (await faultsLeft()) === 0);
    await world.kill(worker);
    await finishes(1);
  });

  it('between the answer and the rows makes that call again, and no other', async () => {
    const client = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await client.connect();
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await stored()) > 10);
    // The row that every commit of an import touches: the worker has its answer and waits.
    await client.query('begin');
    await client.query('select 1 from import_jobs where id = $1 for update', [importId]);
    await eventually('the worker waits for the row', async () => {
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'pacekeeper-worker' and datname = current_database()`;
      return (await world.rows(waiting)).length > 0;
    });
    await world.kill(worker);
    await client.query('rollback');
    await client.end();
    await finishes(1);
  });

  it('after the rows makes no call again', async () => {
    const worker = await world.startWorker();
    await eventually('some details are stored', async () => (await stored()) > 10);
    // No call gets a permit, so whatever has been answered is committed.
    const redis = new Redis(world.env.REDIS_URL ?? '', { keyPrefix: world.env.REDIS_KEY_PREFIX });
    const untilMs = Date.now() + 4_000;
    await redis.set('strava:rate:closed', `${untilMs} 0`, 'PXAT', untilMs);
    const quiet = `select 1 from import_jobs where id = $1 and status = 'rate_limited'`;
    await eventually('it waits', async () => (await world.rows(quiet, [importId])).length > 0);
    await world.kill(worker);
    await redis.del('strava:rate:closed');
    redis.disconnect();
    await finishes(0);
  });

  it('again and again, with Redis losing all it knows, loses and doubles nothing', async () => {
    const kills = 4;
    for (let kill = 0; kill < kills; kill += 1) {
      const worker = await world.startWorker();
      const before = await stored();
      await eventually('it gets further', async () => (await stored()) > before + 4, 30_000);
      if (kill % 2 === 0) await world.forgetRedis();
      await world.kill(worker);
    }
    await finishes(kills);
  });

  const faultsLeft = async () => {
    const { items } = await world.control<{ items: unknown[] }>('GET', 'faults');
    return items.length;
  };
});

/** As a flush of this world's share of the server: the others use it too. */
