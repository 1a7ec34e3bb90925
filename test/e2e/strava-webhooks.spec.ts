import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AddressInfo } from 'node:net';
import pg from 'pg';
import request from 'supertest';
import { SimulatedStrava } from '../../libs/strava/src/simulated-strava.harness.js';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';

const SECRET = 'a-path-nobody-guesses';
const EVENT = {
  aspect_type: 'create',
  event_time: 1_794_900_000,
  object_id: 1,
  object_type: 'activity',
  owner_id: 134_815,
  subscription_id: 5,
  updates: {},
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

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
    });
    strava = await SimulatedStrava.start({ TIME_SCALE: '900' });
    postgres = await Proxy.before(environment.env.DATABASE_URL ?? '');
    const port = await freePort();
    const env = { ...strava.env, ...environment.env, PUBLIC_URL: `http://127.0.0.1:${port}` };
    worker = await ProductProcess.start('worker', env);
    // The worker has to be patient: nobody answers Strava's question yet.
    await worker.line(({ msg }) => msg === 'strava does not send its events yet');
    api = await ProductProcess.start('api', { ...env, PORT: String(port), DATABASE_URL: postgres.url });
    database = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
    await Promise.all([api.stop(), worker.stop()]);
    await Promise.all([strava.stop(), postgres.close()]);
    await environment.release();
  });

  const events = async () => {
    const { rows } = await database.query<{ object_id: string; aspect: string; outcome: string | null }>(
      'select object_id, aspect, outcome from webhook_event order by id',
    );
    return rows;
  };
  const post = (body: string | object = EVENT, to = path) =>
    request(api.url).post(to).set('content-type', 'application/json').send(body);

  it('is where Strava sends what happens, once the worker has subscribed to it', async () => {
    await worker.line(({ msg }) => msg === 'strava sends its events');
    expect((await strava.subscription())?.callback_url).toMatch(`/webhooks/strava/${SECRET}`);
    const person = await strava.connect();
    const id = await strava.upload(person.vendorAthleteId);
    await strava.rename(id, 'Another name');
    await strava.remove(id);
    await eventually('three events', async () => (await events()).length === 3);
    // They may overtake each other on their way.
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
  ])('answers the challenge %j with %i', async (query, status) => {
    const answer = await request(api.url).get(path).query(query);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toEqual({ 'hub.challenge': 'c' });
  });

  it('does not take two tokens for one', async () => {
    const twice = 'hub.mode=subscribe&hub.challenge=c&hub.verify_token=verify&hub.verify_token=verify';
    await request(api.url).get(`${path}?${twice}`).expect(403);
  });

  it.each<[string, string | object, string, number]>([
    ['a forged secret', EVENT, '/webhooks/strava/another-path-nobody-guesses', 404],
    ['half a secret', EVENT, path.slice(0, -1), 404],
    ['no secret', EVENT, '/webhooks/strava/', 404],
    ['nothing', '', path, 400],
    ['no JSON', '{"aspect_type":', path, 400],
    ['no event', { hello: 'world' }, path, 400],
    ['another aspect', { ...EVENT, aspect_type: 'explode' }, path, 400],
    ['a prototype', '{"__proto__":{"a":1}}', path, 400],
    ['64 KB and more', { ...EVENT, updates: { title: 'x'.repeat(65_536) } }, path, 413],
  ])('refuses %s', async (_, body, to, status) => {
    const before = await events();
    const answer = await post(body, to);
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body)).toEqual(['error', 'details', 'request_id']);
    expect(await events()).toEqual(before);
  });

  it('takes an event that is just small enough, and other routes take more', async () => {
    const [subscription] = (
      await database.query<{ subscription_id: string }>('select * from webhook_subscription')
    ).rows;
    const subscription_id = Number(subscription?.subscription_id);
    await post({ ...EVENT, subscription_id, object_id: 77, updates: { title: 'x'.repeat(65_000) } }).expect(
      200,
      {},
    );
    // Known to the edge as too large only where webhooks are.
    await request(api.url)
      .post('/v1/me')
      .send({ text: 'x'.repeat(70_000) })
      .expect(404);
  });

  it('keeps what a foreign subscription sends, and does nothing about it', async () => {
    await post({ ...EVENT, object_id: 78 }).expect(200);
    expect((await events()).at(-1)).toMatchObject({ object_id: '78', outcome: 'ignored' });
  });

  it('acknowledges the same event twice and keeps it once', async () => {
    const before = (await events()).length;
    await Promise.all([
      post({ ...EVENT, object_id: 79 }).expect(200),
      post({ ...EVENT, object_id: 79 }).expect(200),
    ]);
    expect((await events()).length).toBe(before + 1);
  });

  it('acknowledges nothing that it could not keep', async () => {
    postgres.cut();
    const answer = await post({ ...EVENT, object_id: 80 });
    expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
    postgres.heal();
    await eventually('kept', async () => (await post({ ...EVENT, object_id: 80 })).status === 200);
    expect((await events()).at(-1)).toMatchObject({ object_id: '80' });
  });
});
