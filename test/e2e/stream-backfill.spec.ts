import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { Proxy } from '../harness/proxy.js';
import { required } from '../harness/servers.js';
import { type ImportBody, World } from '../harness/world.js';

const MANY = 160;
// So few a window that whoever has many is busy for long, however fast the machine is; of them for the backfill:
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
  const patient = randomUUID();

  beforeAll(async () => {
    redis = await Proxy.before(required('REDIS_URL'));
    world = await World.start({ workers: 2, env: { REDIS_URL: redis.url } });
  });
  afterAll(async () => {
    await world.stop();
    await redis.close();
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

  const observed = async () => (await world.admin<Observed>('GET', 'observability')).body;
  const streamCalls = async () => (await world.stravaStats()).by_endpoint.streams ?? 0;
  const limit = (read_15min: number) => world.control('POST', 'limits', { vendor: 'strava', read_15min });

  /** The most calls that any window saw, by the ledger, where that is about streams for the backfill. */
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

  it('stands still while it is paused, without a forecast, and goes on when it is resumed', async () => {
    expect(await world.admin('POST', 'backfills/pause')).toEqual({ status: 202, body: { status: 'paused' } });
    await connect(patient, MANY);
    await imported(patient);
    expect(await countsOf(patient)).toEqual({ pending: MANY, success: 0, others: 0 });
    expect(await streamCalls()).toBe(0);
    const etaOfPatient = async () =>
      (await observed()).backfill.find(({ athlete_id }) => athlete_id === patient)?.eta;
    expect(await etaOfPatient()).toBeNull();
    const queued = await world.admin('POST', `athletes/${patient}/backfill`);
    expect(queued).toEqual({ status: 202, body: { athlete_id: patient, status: 'queued' } });
    // In the middle of a window, the vendor would have counted more than it allows.
    await eventually('a new window', async () => (await observed()).window.used === 0);
    await limit(FEW);
    expect(await world.admin('POST', 'backfills/resume')).toEqual({
      status: 202,
      body: { status: 'running' },
    });
    await untilStored(patient, 1);
    // Two windows of a second at least.
    expect(Date.parse((await etaOfPatient()) ?? '')).toBeGreaterThan(Date.now());
  });

  it('lets who has few be done long before who has many', async () => {
    const hasty = randomUUID();
    await connect(hasty, 5);
    await untilStored(hasty, 5);
    expect((await countsOf(patient)).pending).toBeGreaterThan(MANY / 4);
    expect(await fullestWindow()).toBeLessThanOrEqual(SHARE_OF_FEW);
  });

  it('goes on when Redis forgets everything', async () => {
    const { success } = await countsOf(patient);
    await world.forgetRedis();
    await untilStored(patient, success + 15);
  });

  it('stops without Redis, leaves the rows as they are, and goes on when it is back', async () => {
    redis.cut();
    await eventually('both have noticed', async () => {
      const answers = await Promise.all(world.workers.map(({ url }) => fetch(`${url}/health/ready`)));
      return answers.every(({ status }) => status === 503);
    });
    await eventually('nothing is under way', async () => (await countsOf(patient)).others === 0);
    const { pending, success, others } = await countsOf(patient);
    expect([pending + success, others]).toEqual([MANY, 0]);
    expect(pending).toBeGreaterThan(0);
    redis.heal();
    await limit(100);
    await untilStored(patient, MANY);
    expect((await countsOf(patient)).others).toBe(0);
  });

  it('takes no more than its share of a window, and asks for nothing twice', async () => {
    expect(await streamCalls()).toBe(MANY + 5);
    expect(await world.stravaStats()).toMatchObject({ over_limit: 0, duplicate_requests: 0 });
    expect(await fullestWindow()).toBeLessThanOrEqual(81);
    // What others have had of a window is no longer the backfill's. Calls are recorded in an order that is the budget's but
    // for those which are under way at the same time.
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

  it('ends with a connection: nothing is kept, stored or asked for after that', async () => {
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

describe('the backfill of one who uploads meanwhile', () => {
  // A window lasts five seconds: time enough for an upload in what is left of it.
  const TIME_SCALE = 180;
  const SHARE = 41;
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: TIME_SCALE, workers: 2 });
    await world.control('POST', 'limits', { vendor: 'strava', read_15min: 50 });
  });
  afterAll(() => world.stop());

  it('leaves room for a new upload, whose streams come while its own share is used up', async () => {
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
      await eventually('its streams are there', async () => {
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
