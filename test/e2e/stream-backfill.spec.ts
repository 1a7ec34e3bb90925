import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { Proxy } from '../harness/proxy.js';
import { required } from '../harness/servers.js';
import { type ImportBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const MANY = 160;
// The test lowers Strava's read limit to FEW, so the backfill of MANY activities takes long on any machine. SHARE_OF_FEW is the part of
// this limit that the backfill may use.
const FEW = 15;
const SHARE_OF_FEW = 13;

interface Counts {
  readonly pending: number;
  readonly success: number;
  readonly others: number;
}

interface Observed {
  readonly window: { readonly used: number };
  readonly backfill: ReadonlyArray<{ readonly athlete_id: string; readonly eta: string | null }>;
}

describe('the backfill of several athletes by two workers', () => {
  let world: World;
  let redis: Proxy;
  const busyAthlete = randomUUID();

  beforeAll(async () => {
    redis = await Proxy.before(required('REDIS_URL'));
    world = await World.start({ workers: 2, env: { REDIS_URL: redis.url } });
  });
  afterAll(async () => {
    await world?.stop();
    await redis?.close();
  });

  async function connect(athlete: string, activities: number): Promise<string> {
    const vendorId = await world.vendorAthlete(activities, { manual_share: 0 });
    await world.connect(athlete, vendorId);
    return vendorId;
  }

  async function imported(athlete: string): Promise<void> {
    const { id } = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body;
    await world.importUntil(athlete, id, ({ status }) => status === 'completed');
  }

  async function countsOf(athlete: string): Promise<Counts> {
    const [counts] = await world.rows<Counts>(
      `select
         count(*) filter (where stream_fetch_status in ('pending', 'deferred'))::int as pending,
         count(*) filter (where stream_fetch_status = 'success')::int as success,
         count(*) filter (where stream_fetch_status not in ('pending', 'deferred', 'success'))::int as others
       from activity
       where athlete_id = $1`,
      [athlete],
    );
    return counts as Counts;
  }

  const untilStored = (athlete: string, activities: number) =>
    eventually(
      `${activities} have streams`,
      async () => (await countsOf(athlete)).success >= activities,
      90_000,
    );

  /** On a busy machine Redis may answer too late. Then the status is 503, and the request is sent again. */
  const observed = () =>
    eventually('an answer', async () => {
      const { status, body } = await world.admin<Observed>('GET', 'observability');
      return status === 200 ? body : undefined;
    });
  const streamCalls = async () => (await world.stravaStats()).by_endpoint.streams ?? 0;
  const limit = (read_15min: number) => world.control('POST', 'limits', { vendor: 'strava', read_15min });

  /** The number of backfill calls in the window with the most of them, by the ledger. */
  async function fullestWindow(): Promise<number> {
    const [fullest] = await world.rows<{ calls: number }>(
      `select count(*)::int as calls
       from strava_api_requests
       where class = 'backfill'
       group by window_id
       order by calls desc
       limit 1`,
    );
    return fullest?.calls ?? 0;
  }

  it('a paused backfill makes no call and has no ETA, and continues after an operator resumes it', async () => {
    expect(await world.admin('POST', 'backfills/pause')).toEqual({ status: 202, body: { status: 'paused' } });
    await connect(busyAthlete, MANY);
    await imported(busyAthlete);
    expect(await countsOf(busyAthlete)).toEqual({ pending: MANY, success: 0, others: 0 });
    expect(await streamCalls()).toBe(0);
    const etaOfBusyAthlete = async () =>
      (await observed()).backfill.find(({ athlete_id }) => athlete_id === busyAthlete)?.eta;
    expect(await etaOfBusyAthlete()).toBeNull();
    const queued = await world.admin('POST', `athletes/${busyAthlete}/backfill`);
    expect(queued).toEqual({ status: 202, body: { athlete_id: busyAthlete, status: 'queued' } });
    // The limit falls at the start of a window. Later in a window, the calls already counted could exceed the lower limit.
    await eventually('a new window', async () => (await observed()).window.used === 0);
    await limit(FEW);
    expect(await world.admin('POST', 'backfills/resume')).toEqual({
      status: 202,
      body: { status: 'running' },
    });
    await untilStored(busyAthlete, 1);
    // The remaining streams take at least two windows of a second. The answer may still be cached from the pause, so the test polls.
    await eventually('an ETA', async () => Date.parse((await etaOfBusyAthlete()) ?? '') > Date.now());
  });

  it('the backfill of an athlete with 5 activities ends before the backfill of an athlete with 160', async () => {
    const quickAthlete = randomUUID();
    await connect(quickAthlete, 5);
    await untilStored(quickAthlete, 5);
    // On a slow machine connecting takes so long that few are left, because the backfill goes on at the same pace on any machine.
    expect((await countsOf(busyAthlete)).pending).toBeGreaterThan(0);
    expect(await fullestWindow()).toBeLessThanOrEqual(SHARE_OF_FEW);
  });

  it('the backfill continues after a flush of Redis', async () => {
    const { success } = await countsOf(busyAthlete);
    await world.flushRedis();
    await untilStored(busyAthlete, success + 15);
  });

  it('the backfill of an athlete begins although Redis has the tick’s id and lost its place in the lists', async () => {
    const athlete = randomUUID();
    await world.leaveLostJob('bull:backfill-strava', athlete, { athleteId: athlete, provider: 'strava' });
    await connect(athlete, 5);
    await untilStored(athlete, 5);
  });

  it('the backfill stops while Redis is away, leaves every row pending or stored, and completes once Redis is back', async () => {
    redis.cut();
    await eventually('both workers are not ready', async () => {
      const answers = await Promise.all(world.workers.map(({ url }) => fetch(`${url}/health/ready`)));
      return answers.every(({ status }) => status === 503);
    });
    await eventually('nothing is under way', async () => (await countsOf(busyAthlete)).others === 0);
    const { pending, success, others } = await countsOf(busyAthlete);
    expect([pending + success, others]).toEqual([MANY, 0]);
    expect(pending).toBeGreaterThan(0);
    redis.heal();
    await limit(100);
    await untilStored(busyAthlete, MANY);
    expect((await countsOf(busyAthlete)).others).toBe(0);
  });

  it('the backfill stays within its share of each window and fetches no stream twice', async () => {
    expect(await streamCalls()).toBe(MANY + 10);
    expect(await world.stravaStats()).toMatchObject({ over_limit: 0, duplicate_requests: 0 });
    expect(await fullestWindow()).toBeLessThanOrEqual(81);
    // Calls of other classes also use up the part of a window that is open to the backfill. The ledger has the calls in the order of
    // their permits. Only calls under way at the same time may be swapped.
    const underWay = 4;
    const late = `
      select nth
      from (
        select class, row_number() over (partition by window_id order by id) as nth
        from strava_api_requests
      ) calls
      where class = 'backfill' and nth > $1`;
    expect(await world.rows(late, [81 + underWay])).toEqual([]);
  });

  it('the backfill of an athlete ends with the connection, leaves no row and makes no further call', async () => {
    const leaving = randomUUID();
    await connect(leaving, 60);
    await untilStored(leaving, 5);
    const { status, body } = await world.call<{ receipt_id: string }>(
      leaving,
      'DELETE',
      '/v1/connections/strava',
    );
    expect(status).toBe(202);
    await eventually('all is deleted', async () => {
      const completed = 'select 1 from receipt where id = $1 and completed_at is not null';
      return (await world.rows(completed, [body.receipt_id])).length > 0;
    });
    const callsOf = `select max(id)::int as last from strava_api_requests where user_id = $1`;
    const [{ last } = { last: undefined }] = await world.rows<{ last: number }>(callsOf, [leaving]);

    const other = randomUUID();
    await connect(other, 10);
    await untilStored(other, 10);
    expect(await world.rows(callsOf, [leaving])).toEqual([{ last }]);
    expect(await countsOf(leaving)).toEqual({ pending: 0, success: 0, others: 0 });
    const orphans = `select 1 from activity_stream left join activity on activity.id = activity_id where activity.id is null`;
    expect(await world.rows(orphans)).toEqual([]);
    expect((await world.stravaStats()).over_limit).toBe(0);
  });
});

describe('the backfill of an athlete who uploads meanwhile', () => {
  // A window lasts five seconds. So an upload fits into a window after the backfill's share is used up.
  const TIME_SCALE = 180;
  const SHARE = 41;
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE, workers: 2 });
    await world.control('POST', 'limits', { vendor: 'strava', read_15min: 50 });
  });
  afterAll(() => world?.stop());

  it('a new upload gets its streams while the backfill’s share of the window is used up', async () => {
    const athlete = randomUUID();
    const vendorId = await world.vendorAthlete(400, { manual_share: 0 });
    await world.connect(athlete, vendorId);
    let uploads = 0;
    const wasUsedUp = async () => {
      const latest = `
        select 1
        from strava_api_requests
        where window_id = (select max(window_id) from strava_api_requests)
        having count(*) between $1 and 47`;
      if ((await world.rows(latest, [SHARE])).length === 0) return false;
      const name = `Upload ${(uploads += 1)}`;
      await world.control('POST', 'activities', { athlete_id: vendorId, name });
      await eventually('the streams of the upload are stored', async () => {
        const stored = `select 1 from activity where athlete_id = $1 and name = $2 and stream_fetch_status = 'success'`;
        return (await world.rows(stored, [athlete, name])).length > 0;
      });
      const late = `
        select 1
        from strava_api_requests streams
        join strava_api_requests earlier using (window_id)
        where streams.endpoint = 'streams' and streams.class = 'live' and streams.user_id = $1 and earlier.id < streams.id
        group by streams.id
        having count(*) >= $2`;
      return (await world.rows(late, [athlete, SHARE])).length > 0;
    };
    await eventually('an upload comes into a window that is closed to the backfill', wasUsedUp, 120_000);
    const waiting = `select 1 from activity where athlete_id = $1 and stream_fetch_status in ('pending', 'deferred')`;
    expect((await world.rows(waiting, [athlete])).length).toBeGreaterThan(0);
    expect((await world.stravaStats()).over_limit).toBe(0);
  });
});
