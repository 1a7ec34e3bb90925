import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import request from 'supertest';
import { SimulatedStrava } from '../../libs/vendors/src/strava/simulated-strava.harness.js';
import { deliveryOf, SENDERS_SECRET } from '../../libs/webhooks/src/events.harness.js';
import { errorBody } from '../harness/error-body.js';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { freePort } from '../harness/free-port.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';

const SECRET = 'a-path-nobody-guesses';
const INGEST_KEY = 'ingest-key-9f2c77d1b0';
const EVENT = {
  aspect_type: 'create',
  event_time: 1_794_900_000,
  object_id: 1,
  object_type: 'activity',
  owner_id: 134_815,
  subscription_id: 5,
  updates: {},
};

describe("Strava's webhook", () => {
  let environment: TestEnvironment;
  let strava: SimulatedStrava;
  let postgres: Proxy;
  let api: ProductProcess;
  let worker: ProductProcess;
  let database: pg.Client;
  const path = `/webhooks/strava/${SECRET}`;

  beforeAll(async () => {
    environment = await testEnvironment({
      TIME_SCALE: '900',
      STRAVA_WEBHOOK_VERIFY_TOKEN: 'verify',
      STRAVA_WEBHOOK_PATH_SECRET: SECRET,
      INGEST_API_KEYS: INGEST_KEY,
    });
    strava = await SimulatedStrava.start({ TIME_SCALE: '900' });
    postgres = await Proxy.before(environment.env.DATABASE_URL ?? '');
    const port = await freePort();
    const env = { ...strava.env, ...environment.env, PUBLIC_URL: `http://127.0.0.1:${port}` };
    worker = await ProductProcess.start('worker', env);
    // The first attempt fails, because the api has not started yet and cannot answer Strava's verification request.
    await worker.line(({ msg }) => msg === 'strava subscription failed');
    const wearables = Object.fromEntries(
      ['OURA', 'WHOOP'].flatMap((name) => [
        [`${name}_CLIENT_ID`, '1'],
        [`${name}_CLIENT_SECRET`, SENDERS_SECRET],
      ]),
    );
    api = await ProductProcess.start('api', {
      ...env,
      ...wearables,
      PORT: String(port),
      DATABASE_URL: postgres.url,
    });
    database = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await database.connect();
    // The owners of `EVENT` and of `deliveryOf`.
    for (const [vendor, owner] of [
      ['strava', EVENT.owner_id] as const,
      ['oura', 10] as const,
      ['whoop', 10] as const,
    ])
      await connectOwner(vendor, owner);
  });
  afterAll(async () => {
    await database?.end();
    await Promise.all([api?.stop(), worker?.stop()]);
    await Promise.all([strava?.stop(), postgres?.close()]);
    await environment?.release();
  });

  /** Inserts a connection whose consent has ended, so that events are stored and cause no calls. */
  async function connectOwner(vendor: string, owner: number | string): Promise<void> {
    const athlete = randomUUID();
    await database.query("insert into athlete (id, issuer, subject) values ($1, 'test', $2)", [
      athlete,
      athlete,
    ]);
    await database.query(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at, status)
       values ($1, $2, $3, '{}', '', '', 1, now(), 'needs_reauth')`,
      [athlete, vendor, String(owner)],
    );
  }

  const events = async () => {
    const { rows } = await database.query<{ object_id: string; aspect: string; outcome: string | null }>(
      'select object_id, aspect, outcome from webhook_event order by id',
    );
    return rows;
  };
  /** The events without their outcome, which a worker writes later. */
  const storedEvents = async () => {
    const { rows } = await database.query<{ id: string; object_id: string; aspect: string }>(
      'select id, object_id, aspect from webhook_event order by id',
    );
    return rows;
  };
  const post = (body: string | object = EVENT, to = path) =>
    request(api.url).post(to).set('content-type', 'application/json').send(body);

  it('the worker subscribes to Strava’s events, and each event is stored once and acknowledged', async () => {
    await worker.line(({ msg }) => msg === 'strava subscription is in place');
    expect((await strava.subscription())?.callback_url).toMatch(`/webhooks/strava/${SECRET}`);
    const { body: ready } = await request(worker.url).get('/health/ready');
    expect(ready.details).toMatchObject({ 'strava subscriptions': { status: 'up' } });
    const person = await strava.connect();
    // The simulator's first athlete, so the events of the uploads have a connected owner.
    expect(Number(person.vendorAthleteId)).toBe(EVENT.owner_id);
    const id = await strava.upload(person.vendorAthleteId);
    await strava.rename(id, 'Another name');
    await strava.remove(id);
    await eventually('three events', async () => (await events()).length === 3);
    // A later event may arrive before an earlier event.
    const said = (await events()).map(({ object_id, aspect }) => `${aspect} ${object_id}`);
    expect(said.toSorted()).toEqual([`create ${id}`, `delete ${id}`, `update ${id}`]);
    await eventually('acknowledged', async () => (await strava.stats()).webhooks.acked === 3);
    expect(JSON.stringify([api.lines, worker.lines])).not.toContain(SECRET);
  });

  it.each([
    [{ 'hub.mode': 'subscribe', 'hub.challenge': 'c', 'hub.verify_token': 'verify' }, 200],
    [{ 'hub.mode': 'subscribe', 'hub.challenge': 'c', 'hub.verify_token': 'wrong' }, 403],
    [{ 'hub.mode': 'subscribe', 'hub.challenge': 'c' }, 403],
    [{ 'hub.mode': 'unsubscribe', 'hub.challenge': 'c', 'hub.verify_token': 'verify' }, 403],
    [{ 'hub.mode': 'subscribe', 'hub.verify_token': 'verify' }, 403],
    [{}, 403],
  ])('the Strava webhook answers the challenge %j with %i', async (query, status) => {
    const answer = await request(api.url).get(path).query(query);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toEqual({ 'hub.challenge': 'c' });
  });

  it('the Strava webhook answers 403 to two verify tokens', async () => {
    const twice = 'hub.mode=subscribe&hub.challenge=c&hub.verify_token=verify&hub.verify_token=verify';
    await request(api.url).get(`${path}?${twice}`).expect(403);
  });

  it.each<[string, string | object, string, number]>([
    ['a forged secret', EVENT, '/webhooks/strava/another-path-nobody-guesses', 404],
    ['a part of the secret', EVENT, path.slice(0, -1), 404],
    ['no secret', EVENT, '/webhooks/strava/', 404],
    ['an empty body', '', path, 400],
    ['malformed JSON', '{"aspect_type":', path, 400],
    ['JSON that is no event', { hello: 'world' }, path, 400],
    ['another aspect', { ...EVENT, aspect_type: 'explode' }, path, 400],
    ['__proto__ in the body', '{"__proto__":{"a":1}}', path, 400],
    ['more than 64 KB', { ...EVENT, updates: { title: 'x'.repeat(65_536) } }, path, 413],
  ])('the Strava webhook refuses %s and stores nothing', async (_, body, to, status) => {
    const before = await storedEvents();
    const answer = await post(body, to);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual(errorBody());
    expect(await storedEvents()).toEqual(before);
  });

  it('the Strava webhook accepts an event of just under 64 KB, and another route reads a larger body', async () => {
    const [subscription] = (
      await database.query<{ subscription_id: string }>(
        "select subscription_id from webhook_subscription where vendor = 'strava'",
      )
    ).rows;
    const subscription_id = Number(subscription?.subscription_id);
    await post({ ...EVENT, subscription_id, object_id: 77, updates: { title: 'x'.repeat(65_000) } }).expect(
      200,
      {},
    );
    // The limit of 64 KB applies to webhooks only: the ingest reads a larger body and answers 400, not 413.
    await request(api.url)
      .post('/api/v1/ingest/sleep')
      .set('x-api-key', INGEST_KEY)
      .send({ text: 'x'.repeat(70_000) })
      .expect(400);
  });

  it('an event of an owner who is not connected is acknowledged, and stores nothing', async () => {
    const before = await storedEvents();
    await post({ ...EVENT, owner_id: 134_816 }).expect(200);
    await post({
      ...EVENT,
      object_type: 'athlete',
      owner_id: 134_816,
      object_id: 134_816,
      aspect_type: 'update',
      updates: { authorized: 'false' },
    }).expect(200);
    expect(await storedEvents()).toEqual(before);
  });

  it('an event of another subscription is stored as ignored', async () => {
    await post({ ...EVENT, object_id: 78 }).expect(200);
    expect((await events()).at(-1)).toMatchObject({ object_id: '78', outcome: 'ignored' });
  });

  it('an event that Strava sends twice at once is acknowledged twice and stored once', async () => {
    const before = (await events()).length;
    await Promise.all([
      post({ ...EVENT, object_id: 79 }).expect(200),
      post({ ...EVENT, object_id: 79 }).expect(200),
    ]);
    expect((await events()).length).toBe(before + 1);
  });

  it('the Strava webhook answers 503 while it cannot store an event, and 200 once it can', async () => {
    postgres.cut();
    const answer = await post({ ...EVENT, object_id: 80 });
    expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
    postgres.heal();
    await eventually(
      'the event is stored',
      async () => (await post({ ...EVENT, object_id: 80 })).status === 200,
    );
    expect((await events()).at(-1)).toMatchObject({ object_id: '80' });
  });

  it.each(['oura', 'whoop'] as const)(
    'the webhook of %s answers 503 while it cannot store an event, 200 once it can, and stores it once',
    async (vendor) => {
      const send = () => {
        const { body, headers } = deliveryOf(vendor, { object: 'away' });
        return request(api.url)
          .post(`/webhooks/${vendor}`)
          .set({ 'content-type': 'application/json', ...(headers as Record<string, string>) })
          .send(body);
      };
      postgres.cut();
      expect((await send()).status).toBe(503);
      postgres.heal();
      await eventually('the event is stored', async () => (await send()).status === 200);
      await send().expect(200);
      expect((await events()).filter(({ object_id }) => object_id === 'away')).toHaveLength(
        vendor === 'oura' ? 1 : 2,
      );
    },
  );

  it.each(['/webhooks/nobody', '/webhooks/nobody/secret', '/webhooks/oura/secret', '/webhooks/strava'])(
    'POST and GET %s answer 404: there is no such webhook',
    async (unknown) => {
      await post({}, unknown).expect(404);
      await request(api.url).get(unknown).expect(404);
    },
  );
});
