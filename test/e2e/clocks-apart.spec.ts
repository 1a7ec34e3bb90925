import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { RedisServer } from '../harness/redis-server.js';
import { canShiftClocks, shiftedClock } from '../harness/shifted-clock.js';
import { type ImportBody, type ReceiptBody, World } from '../harness/world.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400 * SECOND;

/** How far the clocks are ahead of the right time. */
interface Clocks {
  readonly processes?: number;
  readonly postgres?: number;
  readonly redis?: number;
  readonly vendors?: number;
}

/** All clocks but that of NATS, which cannot be set. So NATS is as far off as they are, in the other direction. */
const allButNats = (ms: number): Clocks => ({ processes: ms, postgres: ms, redis: ms, vendors: ms });

const EACH_IN_TURN: Readonly<Record<string, Clocks>> = {
  'every clock right': {},
  'the processes a day behind': { processes: -DAY },
  'the processes 10 min behind': { processes: -10 * MINUTE },
  'the processes 10 min ahead': { processes: 10 * MINUTE },
  'the processes a day ahead': { processes: DAY },
  'Postgres 10 s behind': { postgres: -10 * SECOND },
  'Postgres 10 s ahead': { postgres: 10 * SECOND },
  'Redis 10 s behind': { redis: -10 * SECOND },
  'Redis 10 s ahead': { redis: 10 * SECOND },
  'NATS 10 s behind': allButNats(10 * SECOND),
  'NATS 10 s ahead': allButNats(-10 * SECOND),
};
// The two that broke most: comparisons without end and a day closed too early; and nights that were acknowledged and dropped.
const WORST: Readonly<Record<string, Clocks>> = {
  'the processes a day behind and Redis 10 s ahead': { processes: -DAY, redis: 10 * SECOND },
  'NATS 10 s behind': allButNats(10 * SECOND),
};
const isWhole = process.env.CLOCKS === 'all';
const cases = Object.entries(isWhole ? EACH_IN_TURN : WORST);

// A window of 15 min lasts 15 s and a day 24 min, so 10 s are most of a window.
const TIME_SCALE = 60;
const KEY = 'an-ingest-key-for-tests';
const ACTIVITIES = 12;
const NIGHTS = 3;
const DATE = new Date(Date.now() - 8 * DAY).toISOString().slice(0, 10);
const REACHED_MS = 90_000;
/** Vendors refuse no signature, and we no delivery, within 5 min. */
const SIGNED_WITHIN = 5 * MINUTE;

// Real servers start for each case, and some waits are longer than the usual 90 s of a test.
jest.setTimeout(300_000);

// Calls that no vendor counts against its limits.
const FREE = ['token', 'revoke', 'push_subscriptions'];

/** Without a C compiler, the tests with a server whose clock is wrong are skipped. */
(canShiftClocks() ? describe : describe.skip)('servers that disagree about the time', () => {
  const stops: Array<() => Promise<unknown>> = [];
  let world: World;
  let clocks: Clocks;
  const start = async (apart: Clocks, timeScale = TIME_SCALE) => {
    clocks = apart;
    const nats = await NatsServer.start();
    stops.push(() => nats.stop());
    const postgres = await PostgresServer.startAhead(apart.postgres ?? 0);
    stops.push(() => postgres.stop());
    const redis = await RedisServer.startAhead(apart.redis ?? 0);
    stops.push(() => redis.kill());
    world = await World.start({
      timeScale,
      workers: 0,
      databaseUrl: postgres.url,
      env: { NATS_URL: nats.url, REDIS_URL: redis.url, INGEST_API_KEYS: KEY },
      // Node's own `Date` header ignores a `Date` that a script has replaced.
      vendors: shiftedClock(apart.vendors ?? 0),
      aheadMs: apart.processes ?? 0,
    });
    stops.push(() => world.stop());
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
    await world.startWorker();
  };
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  const send = async (userId: string, durationMinutes: number) => {
    const answer = await fetch(`${world.api.url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': KEY },
      body: JSON.stringify({ userId, date: DATE, durationMinutes }),
    });
    expect(answer.status).toBe(200);
  };
  const nightOf = async (userId: string) => {
    const [night] = await world.rows<{ minutes: number; score: number | null }>(
      'select duration_minutes as minutes, quality_score as score from sleep_data where user_id = $1 and date = $2',
      [userId, DATE],
    );
    return night;
  };
  const nightBecomes = (userId: string, minutes: number) =>
    eventually(
      `a night of ${minutes} minutes`,
      async () => (await nightOf(userId))?.minutes === minutes,
      REACHED_MS,
    );
  const settled = (what: string, statement: string, values: unknown[] = [], deadlineMs = REACHED_MS) =>
    eventually(what, async () => (await world.rows(statement, values)).length === 0, deadlineMs);

  const importsAndProcesses = async (athlete: string) => {
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    await world.importUntil(athlete, body.id, ({ status }) => status === 'completed', REACHED_MS);
    await settled(
      'all streams here, all jobs done',
      `select 1
       from activity
       left join jobs on jobs.activity_id = activity.id and jobs.status = 'succeeded'
       where activity.athlete_id = $1 and (stream_fetch_status <> 'success' and not manual or jobs.job_id is null)`,
      [athlete],
    );
  };

  const appliesEdits = async (athlete: string) => {
    const [newest] = await world.rows<{ id: string }>(
      'select external_activity_id as id from activity where athlete_id = $1 order by start_time desc limit 1',
      [athlete],
    );
    for (const name of ['a first name', 'a second name', 'the last name']) {
      await world.control('PATCH', `activities/${newest?.id}`, { name });
      await settled(
        name,
        'select 1 from activity where athlete_id = $1 and external_activity_id = $2 and name <> $3',
        [athlete, newest?.id, name],
      );
    }
  };

  /** A night by webhook and its re-score. Webhooks that the api refuses for their time are found by the next comparison. */
  const followsNights = async (athlete: string, vendorId: string) => {
    const isRefused = Math.abs((clocks.processes ?? 0) - (clocks.vendors ?? 0)) > SIGNED_WITHIN;
    const becomes = (minutes: number) =>
      eventually(
        `a night of ${minutes} minutes from the vendor`,
        async () => {
          // A day passes for each comparison that has ended.
          if (isRefused)
            await world.rows(
              `update sleep_comparison set compared_at = compared_at - interval '1 day', next_at = clock_timestamp()
               where begun_at is null and next_at > clock_timestamp() + interval '1 s'`,
            );
          return (await nightOf(athlete))?.minutes === minutes;
        },
        REACHED_MS,
      );
    const { id } = await world.control<{ id: string }>('POST', 'sleep', {
      ...{ athlete_id: vendorId, provider: 'whoop', date: DATE },
      ...{ duration_minutes: 431, score: 80 },
    });
    await becomes(431);
    await world.control('PATCH', `sleep/${id}`, { duration_minutes: 440, score: 64 });
    await becomes(440);
  };

  /** Nights that wait in the stream while their owner leaves, and nights that the owner sends after a return. */
  const deletesForGood = async () => {
    const leaver = randomUUID();
    await world.call(leaver, 'GET', '/v1/me');
    await send(leaver, 400);
    await nightBecomes(leaver, 400);
    for (const worker of world.workers) worker.signal('SIGSTOP');
    await send(leaver, 401);
    const { body } = await world.call<{ receipt_id: string }>(leaver, 'DELETE', '/v1/account');
    for (const worker of world.workers) worker.signal('SIGCONT');
    await eventually(
      'the receipt is completed',
      async () => {
        const receipt = await fetch(`${world.api.url}/v1/receipts/${body.receipt_id}`);
        return ((await receipt.json()) as ReceiptBody).status === 'completed';
      },
      REACHED_MS,
    );
    expect(await nightOf(leaver)).toBeUndefined();
    await world.call(leaver, 'GET', '/v1/me');
    await send(leaver, 402);
    await nightBecomes(leaver, 402);
    expect(await world.rows('select 1 from sleep_session where user_id = $1', [leaver])).toHaveLength(1);
  };

  it.each(cases)(
    'with %s, all flows end; no call exceeds a limit, nothing is lost, doubled or comes back',
    async (_title, apart) => {
      await start(apart);
      const athlete = randomUUID();
      const strava = await world.vendorAthlete(ACTIVITIES);
      const { id: whoop } = await world.control<{ id: string }>('POST', 'athletes', {
        ...{ provider: 'whoop', activities: 1, nights: NIGHTS },
      });
      await world.connect(athlete, strava);
      await world.connect(athlete, whoop, 'whoop');
      await Promise.all([
        importsAndProcesses(athlete).then(() => appliesEdits(athlete)),
        followsNights(athlete, whoop),
        deletesForGood(),
      ]);
      const sender = randomUUID();
      for (const minutes of [410, 420, 430]) await send(sender, minutes);
      await nightBecomes(sender, 430);

      for (const vendor of ['strava', 'whoop']) {
        const { over_limit, by_status, duplicate_requests } = await world.vendorStats(vendor);
        expect([vendor, over_limit, by_status['429'] ?? 0, duplicate_requests]).toEqual([vendor, 0, 0, 0]);
      }
      const [found] = await world.rows<{ activities: number; runs: number }>(
        'select (select count(*) from activity)::int as activities, (select count(*) from runs)::int as runs',
      );
      expect(found).toEqual({ activities: ACTIVITIES, runs: ACTIVITIES });
      const { body: letters } = await world.admin<{ items: unknown[] }>('GET', 'dlq');
      expect(letters.items).toEqual([]);
      await tellsTheDifferences();
    },
  );

  const IDLE = 50;
  // The day that is observed may begin within a round.
  const SOME_TWICE = 10;
  // A comparison of activities lists a page and then an empty one; the weekly one may fall on the day as well. One of nights reads two lists.
  // Oura's subscriptions are checked every five minutes.
  const PLANNED: Readonly<Record<string, number>> = {
    'strava activities': IDLE * 2 * 2,
    'oura sleep': IDLE + SOME_TWICE,
    'oura daily_sleep': IDLE + SOME_TWICE,
    'oura subscriptions': 288 + SOME_TWICE,
  };
  // The import of all histories takes some days of the vendors' limits.
  const IMPORTED_MS = 400_000;
  const spent: Record<string, Record<string, number>> = {};
  const callsSoFar = async () => {
    const calls: Record<string, number> = {};
    for (const vendor of ['strava', 'oura'])
      for (const [endpoint, count] of Object.entries((await world.vendorStats(vendor)).by_endpoint))
        if (!FREE.includes(endpoint)) calls[`${vendor} ${endpoint}`] = count;
    return calls;
  };

  (isWhole ? it.each(cases) : it.skip.each(cases))(
    'with %s, a day of 50 athletes without news costs no more calls than planned',
    async (title, apart) => {
      // A day lasts 96 s.
      await start(apart, 900);
      for (let n = 0; n < IDLE; n += 1) {
        const athlete = randomUUID();
        await world.connect(athlete, await world.vendorAthlete(2));
        const made = { provider: 'oura', activities: 1, nights: 2 };
        const { id } = await world.control<{ id: string }>('POST', 'athletes', made);
        await world.connect(athlete, id, 'oura');
      }
      await settled(
        'all imports, streams and first comparisons are done',
        `select 1 from import_jobs where status not in ('completed', 'failed')
         union all select 1 from activity where stream_fetch_status in ('pending', 'fetching', 'failed', 'deferred')
         union all select 1 from sleep_comparison where provider = 'oura' and compared_at is null`,
        [],
        IMPORTED_MS,
      );
      const before = await callsSoFar();
      const [day] = await world.rows<{ end: Date }>("select clock_timestamp() + interval '96 s' as end");
      await eventually(
        'a day later',
        async () => (await world.rows('select 1 where clock_timestamp() > $1', [day?.end])).length > 0,
        2 * REACHED_MS,
      );
      const after = await callsSoFar();
      const calls = Object.entries(after).map(
        ([name, count]) => [name, count - (before[name] ?? 0)] as const,
      );
      spent[title] = Object.fromEntries(calls.filter(([, count]) => count > 0));
      console.table(spent);
      expect(calls.filter(([name, count]) => count > (PLANNED[name] ?? 0))).toEqual([]);
    },
    900_000,
  );

  /** The readiness answer of the worker, which calls the vendors, names each clock. */
  const tellsTheDifferences = async () => {
    const { processes = 0, postgres: ofPostgres = 0, redis: ofRedis = 0, vendors = 0 } = clocks;
    const expected = {
      postgres: (ofPostgres - processes) / SECOND,
      redis: (ofRedis - processes) / SECOND,
      nats: -processes / SECOND,
      strava: (vendors - processes) / SECOND,
    };
    const isFar = Object.values(expected).some((seconds) => Math.abs(seconds) > 2);
    const close = (seconds: number | undefined, wanted: number) =>
      seconds !== undefined && Math.abs(seconds - wanted) <= 2;
    await eventually(
      `the differences ${JSON.stringify(expected)}`,
      async () => {
        const answer = await fetch(`${world.workers[0]?.url}/health/ready`);
        const { details } = (await answer.json()) as {
          details: { clock?: { secondsAhead: Record<string, number>; warning?: string } };
        };
        const { secondsAhead = {}, warning } = details.clock ?? {};
        return (
          answer.status === 200 &&
          Object.entries(expected).every(([server, wanted]) => close(secondsAhead[server], wanted)) &&
          (warning !== undefined) === isFar
        );
      },
      REACHED_MS,
    );
    const warnings = world.api.lines.filter(({ msg }) => msg.startsWith("a server's clock differs"));
    expect(warnings.length > 0).toBe(isFar);
    expect(new Set(warnings.map(({ server }) => server)).size).toBe(warnings.length);
  };
});
