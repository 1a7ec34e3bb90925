import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { filesOf } from '../harness/archive.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { required } from '../harness/servers.js';
import { type ImportBody, type ReceiptBody, type StreamBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const ACTIVITIES = 16;
const CLIENTS = 50;

interface Activity {
  readonly id: string;
  readonly external_activity_id: string;
}

interface State {
  readonly status: string;
  readonly fence: string;
  readonly attempted_at: Date | null;
}

describe('readers who wait for streams', () => {
  let world: World;
  let redis: Proxy;
  let athlete: string;
  let activities: Activity[];

  beforeAll(async () => {
    redis = await Proxy.before(required('REDIS_URL'));
    world = await World.start({ env: { REDIS_URL: redis.url } });
    await world.admin('POST', 'backfills/pause');
    athlete = randomUUID();
    await world.connect(athlete, await world.vendorAthlete(ACTIVITIES, { manual_share: 0 }));
    const { id } = (await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' })).body;
    await world.importUntil(athlete, id, ({ status }) => status === 'completed');
    activities = await world.rows<Activity>(
      'select id, external_activity_id from activity where athlete_id = $1 order by start_time',
      [athlete],
    );
  });
  afterAll(async () => {
    await world?.stop();
    await redis?.close();
  });

  /** The newest activity whose streams no reader has requested yet. */
  const another = () => activities.pop() as Activity;
  const streamCalls = async () => (await world.stravaStats()).by_endpoint.streams ?? 0;

  const slow = (activity: Activity, delay_ms: number) =>
    world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'slow',
      delay_ms,
      resource: activity.external_activity_id,
      count: 1,
    });

  async function stateOf({ id }: Activity): Promise<State> {
    const state = `
      select stream_fetch_status as status, stream_fetch_fence as fence, stream_fetch_attempted_at as attempted_at
      from activity
      where id = $1`;
    return (await world.rows<State>(state, [id]))[0] as State;
  }

  const becomes = (activity: Activity, status: string) =>
    eventually(`it becomes ${status}`, async () => (await stateOf(activity)).status === status);

  it('fifty readers of one activity’s streams at two processes cause one call to the vendor', async () => {
    const wanted = another();
    const otherApi = await ProductProcess.start('api', { ...world.env, PORT: '0' });
    await slow(wanted, 500);
    const headers = { authorization: `Bearer ${await tokenFor(athlete)}`, prefer: 'wait=10' };
    const answers = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        const { url } = client % 2 === 0 ? world.api : otherApi;
        const answer = await fetch(`${url}/v1/activities/${wanted.id}/streams`, { headers });
        return { status: answer.status, body: (await answer.json()) as StreamBody };
      }),
    );
    await otherApi.stop();
    for (const { status, body } of answers)
      expect([status, body.status, body.error]).toEqual([200, 'success', null]);
    expect(new Set(answers.map(({ body }) => body.fetched_at)).size).toBe(1);
    expect([await streamCalls(), (await stateOf(wanted)).fence]).toEqual([1, '1']);
  });

  it('a reader who waits too briefly gets the status fetching or pending, and the next reader gets the streams of the same call', async () => {
    const wanted = another();
    const before = await streamCalls();
    await slow(wanted, 3_000);
    const { status, body } = await world.streams(athlete, wanted.id, 1);
    expect(status).toBe(200);
    // The claim waits for a window's boundary and for a slot. Until then the status is pending.
    expect(['fetching', 'pending']).toContain(body.status);
    expect(body).toMatchObject({ stream_data: null, error: null, retry_at: null });
    // The next reader joins the fetch.
    expect((await world.streams(athlete, wanted.id, 10)).body.status).toBe('success');
    expect(await streamCalls()).toBe(before + 1);
  });

  it.each(['cut', 'freeze'] as const)(
    'a reader gets the status pending while Redis is away (%s), and no fetch begins',
    async (way) => {
      const wanted = another();
      const before = await streamCalls();
      redis[way]();
      const { status, body } = await world.streams(athlete, wanted.id, 1);
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'pending', stream_data: null, error: null, retry_at: null });
      expect(await stateOf(wanted)).toEqual({ status: 'pending', fence: '0', attempted_at: null });
      redis.heal();
      await eventually(
        'streams are fetched with Redis back',
        async () => (await world.streams(athlete, wanted.id, 1)).body.status === 'success',
      );
      expect(await streamCalls()).toBe(before + 1);
    },
  );

  it('a reader joins a worker’s attempt to fetch streams', async () => {
    const wanted = activities.at(-1) as Activity;
    await slow(wanted, 1_500);
    await world.admin('POST', 'backfills/resume');
    await becomes(wanted, 'fetching');
    const { body } = await world.streams(athlete, wanted.id, 10);
    expect(body.status).toBe('success');
    expect((await stateOf(wanted)).fence).toBe('1');
    for (const activity of activities) await becomes(activity, 'success');
    expect(await streamCalls()).toBe(ACTIVITIES);
    expect((await world.stravaStats()).duplicate_requests).toBe(0);
  });

  it.each([
    ['GET', '/admin/observability'],
    ['POST', '/admin/activities/ID/reset-stream-fetch'],
    ['POST', '/admin/athletes/ID/backfill'],
    ['POST', '/admin/backfills/pause'],
    ['POST', '/admin/backfills/resume'],
  ])('%s %s answers 403 to an athlete and 401 without a token', async (method, path) => {
    const url = path.replace('ID', activities[0]?.id ?? '');
    expect((await world.call(athlete, method, url)).status).toBe(403);
    expect((await world.call(athlete, method, url, undefined, { authorization: '' })).status).toBe(401);
    const forged = { authorization: `Bearer ${await tokenFor(athlete, { role: 'Admin' })}` };
    expect((await world.call(athlete, method, url, undefined, forged)).status).toBe(403);
    expect(await stateOf(activities[0] as Activity)).toMatchObject({ status: 'success', fence: '1' });
    expect(await world.rows('select 1 from backfill_switch where is_paused')).toEqual([]);
  });

  it('streams answer 404 to another athlete, and operators’ routes answer 404 to an unknown id', async () => {
    const { id } = activities[0] as Activity;
    const path = `/v1/activities/${id}/streams`;
    expect((await world.streams(randomUUID(), id, 1)).status).toBe(404);
    expect((await world.call(athlete, 'GET', path, undefined, { authorization: '' })).status).toBe(401);
    expect((await world.streams(athlete, 'latest')).status).toBe(404);
    for (const unknown of [randomUUID(), '1', 'null']) {
      expect((await world.admin('POST', `athletes/${unknown}/backfill`)).status).toBe(404);
      expect((await world.admin('POST', `activities/${unknown}/reset-stream-fetch`)).status).toBe(404);
    }
    // The id of an activity is not the id of an athlete.
    expect((await world.admin('POST', `athletes/${id}/backfill`)).status).toBe(404);
  });

  it('GET /admin/observability has streams by status, the budget and each athlete’s backfill', async () => {
    // On a busy machine Redis may answer too late. Then the status is 503.
    const body = await eventually('an answer', async () => {
      const { status, body } = await world.admin<Record<string, unknown>>('GET', 'observability');
      return status === 200 ? body : undefined;
    });
    const counts = { pending: 0, fetching: 0, success: ACTIVITIES, failed: 0, deferred: 0, unavailable: 0 };
    const budget = {
      used: expect.any(Number),
      limit: expect.any(Number),
      remaining: expect.any(Number),
      resets_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    };
    const counter = {
      bucket: 'read',
      window: '15min',
      ...budget,
      closed_until: null,
      classes: ['live', 'import', 'backfill'].map((name) => ({
        class: name,
        used: expect.any(Number),
        reserve: expect.any(Number),
      })),
    };
    expect(body).toEqual({
      status_distribution: counts,
      retry_distribution: {},
      rate_429_24h: 0,
      window: budget,
      day: budget,
      budgets: expect.arrayContaining([
        { provider: 'strava', rate_429_24h: 0, counters: expect.arrayContaining([counter]) },
      ]),
      stuck_failed: 0,
      backfills_paused: false,
      needs_attention: {
        needs_reauth: 0,
        stuck_failed: 0,
        dead_letters: expect.any(Number),
        failing_endpoints: 0,
        webhook_events_set_aside: 0,
        silent_consumers: expect.any(Array),
      },
      backfill: [{ athlete_id: athlete, ...counts, eta: null }],
    });
    expect(body).toMatchObject({ window: { limit: 100 }, day: { limit: 1_000 } });
    for (const { used, limit, remaining } of [body.window, body.day] as Array<Record<string, number>>)
      expect(remaining).toBe((limit ?? 0) - (used ?? 0));
  });

  it('the account export has each stream as the api returns it', async () => {
    const answer = await fetch(`${world.api.url}/v1/account/export`, {
      headers: { authorization: `Bearer ${await tokenFor(athlete)}` },
    });
    const files = await filesOf(Buffer.from(await answer.arrayBuffer()));
    const { counts } = JSON.parse(files.get('manifest.json') ?? '') as { counts: Record<string, number> };
    expect(counts).toMatchObject({ activities: ACTIVITIES, streams: ACTIVITIES });
    const records = [...files]
      .filter(([name]) => name.startsWith('streams'))
      .flatMap(([, text]) => text.trimEnd().split('\n'))
      .map((line) => JSON.parse(line) as { activity_id: string; point_count: number; stream_data: object });
    expect(new Set(records.map(({ activity_id }) => activity_id)).size).toBe(ACTIVITIES);
    const [record] = records;
    const { body } = await world.streams(athlete, record?.activity_id ?? '');
    expect(record).toMatchObject({ point_count: body.point_count, stream_data: body.stream_data });
  });

  it('the deletion of an account removes all streams and counts them in the receipt', async () => {
    const { body } = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/account');
    const receipt = await eventually('all is deleted', async () => {
      const answer = await fetch(`${world.api.url}/v1/receipts/${body.receipt_id}`);
      const receipt = (await answer.json()) as ReceiptBody;
      return receipt.status === 'completed' ? receipt : undefined;
    });
    expect(receipt.deleted).toMatchObject({ activities: ACTIVITIES, streams: ACTIVITIES });
    expect(await world.rows('select 1 from activity_stream')).toEqual([]);
  });
});
