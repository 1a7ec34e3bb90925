import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// A window lasts 15 seconds. So a worker can be killed, started and refused within one window.
const TIME_SCALE = 60;
const LIMIT = 10;
const TIMES = 3;

describe('limits that the vendor has lowered', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE });
    await world.pauseBackfill();
  });
  afterAll(() => world?.stop());

  it('new workers keep lowered limits after a Redis flush, even if an import is due at once', async () => {
    await world.control('POST', 'limits', {
      vendor: 'strava',
      read_15min: LIMIT,
      read_day: 1_000,
      overall_15min: 200,
      overall_day: 2_000,
    });
    const athlete = randomUUID();
    await world.connect(athlete, await world.vendorAthlete(25));
    const { id } = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body;
    let restarts = 0;
    while (restarts < TIMES) {
      const isLimitedOrDone = ({ status }: ImportBody) => status === 'rate_limited' || status === 'completed';
      const { status } = await world.importUntil(athlete, id, isLimitedOrDone);
      if (status === 'completed') break;
      await world.kill(world.workers[0]!);
      await world.flushRedis();
      await world.rows(
        `update import_jobs set retry_after = now() where id = $1 and status = 'rate_limited'`,
        [id],
      );
      await world.startWorker();
      restarts += 1;
    }
    const done = await world.importUntil(athlete, id, ({ status }) => status === 'completed');
    expect(done.activities_imported).toBe(25);
    const { over_limit, by_status } = await world.stravaStats();
    expect([over_limit, by_status['429'] ?? 0]).toEqual([0, 0]);
    expect(restarts).toBeGreaterThan(0);
  });
});
