import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { processClock } from '../harness/process-clock.js';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const KEY = 'an-ingest-key-for-tests';
const DATE = '2025-10-02';
const AHEAD_MS = 10_000;
const ACTIVITIES = 20;
const EDITED = 8;
const EDITS = 3;
const REACHED_MS = 120_000;

describe('processes whose clocks are ten seconds wrong, in both directions', () => {
  let nats: NatsServer;
  let world: World;
  let ahead: ProductProcess;
  let behind: ProductProcess;
  beforeAll(async () => {
    nats = await NatsServer.start();
    const env = { NATS_URL: nats.url, INGEST_API_KEYS: KEY };
    world = await World.start({ workers: 0, env });
    [ahead, behind] = (await Promise.all(
      [AHEAD_MS, -AHEAD_MS].map((ms) =>
        ProductProcess.start('api', { ...world.env, PORT: '0', ...processClock(ms) }),
      ),
    )) as [ProductProcess, ProductProcess];
    await Promise.all([AHEAD_MS, -AHEAD_MS].map((ms) => world.startWorker(processClock(ms))));
  });
  afterAll(async () => {
    await Promise.all([ahead?.stop(), behind?.stop()]);
    await world?.stop();
    await nats?.stop();
  });

  const send = async (
    { url }: ProductProcess,
    userId: string,
    durationMinutes: number,
    more: object = {},
  ) => {
    const answer = await fetch(`${url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': KEY },
      body: JSON.stringify({ userId, date: DATE, durationMinutes, ...more }),
    });
    expect(answer.status).toBe(200);
  };
  const minutesOf = async (userId: string) =>
    (
      await world.rows<{ minutes: number }>(
        'select duration_minutes as minutes from sleep_data where user_id = $1',
        [userId],
      )
    )[0]?.minutes;

  it('processes with wrong clocks log their own time', async () => {
    const offMs = async ({ url, lines }: ProductProcess) => {
      const atMs = Date.now();
      await fetch(`${url}/v1/me`);
      const line = await eventually('the log line', () => lines.findLast(({ status }) => status === 401));
      return Date.parse(String(line.time)) - atMs;
    };
    expect(await offMs(ahead)).toBeGreaterThanOrEqual(AHEAD_MS);
    expect(await offMs(behind)).toBeLessThan(0);
  });

  it.each([
    ['ahead', 'behind'],
    ['behind', 'ahead'],
  ])(
    'the night posted last wins if posts alternate between the process %s and the process %s',
    async (first) => {
      const [one, other] = first === 'ahead' ? [ahead, behind] : [behind, ahead];
      const userId = randomUUID();
      await send(one, userId, 400);
      await send(other, userId, 410);
      await send(one, userId, 420);
      await send(other, userId, 430);
      await eventually('the last one', async () => (await minutesOf(userId)) === 430, REACHED_MS);
    },
  );

  it('the night with the newest capturedAt of a client wins, no matter which process receives it', async () => {
    const userId = randomUUID();
    const at = (ms: number) => ({ capturedAt: new Date(Date.now() + ms).toISOString() });
    await send(behind, userId, 440, at(-60_000));
    await send(ahead, userId, 450, at(-90_000));
    await send(ahead, userId, 460, at(-30_000));
    await send(behind, userId, 470, at(-45_000));
    await eventually('the newest one', async () => (await minutesOf(userId)) === 460, REACHED_MS);
  });

  it('workers with wrong clocks import, apply edits and process each activity once', async () => {
    const athlete = randomUUID();
    const vendorId = await world.vendorAthlete(ACTIVITIES);
    await world.connect(athlete, vendorId);
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    await world.importUntil(athlete, body.id, ({ status }) => status === 'completed', REACHED_MS);
    const rows = () =>
      world.rows<{ id: string; name: string }>(
        'select external_activity_id as id, name from activity where athlete_id = $1 order by start_time desc',
        [athlete],
      );
    const edited = (await rows()).slice(0, EDITED).map(({ id }) => id);
    expect(await rows()).toHaveLength(ACTIVITIES);

    for (let edit = 1; edit <= EDITS; edit += 1) {
      const names = edited.map((id) => `${id}, edit ${edit}`);
      await Promise.all(
        edited.map((id, n) => world.control('PATCH', `activities/${id}`, { name: names[n] })),
      );
      await eventually(
        `edit ${edit}`,
        async () => {
          const known = new Set((await rows()).map(({ name }) => name));
          return names.every((name) => known.has(name));
        },
        REACHED_MS,
      );
    }
    await world.rows("update connection set expires_at = now() - interval '1 second' where athlete_id = $1", [
      athlete,
    ]);
    await eventually(
      'all streams here, all jobs done',
      async () => {
        const [left] = await world.rows<{ left: number }>(
          `select count(*)::int as left
           from activity
           left join jobs on jobs.activity_id = activity.id and jobs.status = 'succeeded'
           where activity.athlete_id = $1 and (stream_fetch_status <> 'success' and not manual or jobs.job_id is null)`,
          [athlete],
        );
        return left?.left === 0;
      },
      REACHED_MS,
    );
    expect((await world.stravaStats()).over_limit).toBe(0);
    const [runs] = await world.rows<{ runs: number }>('select count(*)::int as runs from runs');
    expect(runs?.runs).toBe(ACTIVITIES);
  }, 400_000);
});
