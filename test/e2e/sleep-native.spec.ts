import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { verificationTokenOf } from '#oura';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { CLIENT } from '../harness/simulator.js';
import { World } from '../harness/world.js';

interface NightBody {
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: string;
}

const DATE = new Date(Date.now() - 8 * 86_400_000).toISOString().slice(0, 10);

describe('sleep from Oura and WHOOP themselves', () => {
  let server: NatsServer;
  let world: World;
  beforeAll(async () => {
    server = await NatsServer.start();
    world = await World.start({ timeScale: 1, env: { NATS_URL: server.url } });
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
  });
  afterAll(async () => {
    await world.stop();
    await server.stop();
  });

  const connected = async (provider: string) => {
    const athlete = randomUUID();
    const { id } = await world.control<{ id: string }>('POST', 'athletes', {
      provider,
      activities: 1,
      nights: 1,
    });
    await world.connect(athlete, id, provider);
    return { athlete, vendorId: id };
  };
  // Of the database, which may be asked as often as one likes.
  const nightOf = async (athlete: string, date = DATE) => {
    const [night] = await world.rows<NightBody>(
      'select duration_minutes, quality_score, vendor from sleep_data where user_id = $1 and date = $2',
      [athlete, date],
    );
    return night;
  };
  const becomes = (athlete: string, what: Partial<NightBody> | undefined, date = DATE) =>
    eventually(
      JSON.stringify(what ?? 'no night'),
      async () => {
        const night = await nightOf(athlete, date);
        if (!what) return night === undefined;
        return (
          night && Object.entries(what).every(([name, value]) => night[name as keyof NightBody] === value)
        );
      },
      90_000,
    );
  const subscribed = () =>
    eventually('all subscriptions', async () => {
      const answer = await fetch(`${world.simulator.url}/oura/v2/webhook/subscription`, {
        headers: { 'x-client-id': CLIENT.id, 'x-client-secret': CLIENT.secret },
      });
      return ((await answer.json()) as unknown[]).length === 6;
    });
  const slept = (athlete_id: string, more: object) =>
    world.control<{ id: string }>('POST', 'sleep', { athlete_id, date: DATE, ...more });

  it.each(['oura', 'whoop'])(
    'brings a night of %s, its new score, and its end',
    async (provider) => {
      if (provider === 'oura') await subscribed();
      const { athlete, vendorId } = await connected(provider);
      const { id } = await slept(vendorId, { duration_minutes: 431, score: 80 });
      await becomes(athlete, { duration_minutes: 431, quality_score: 80, vendor: provider });

      await world.control('PATCH', `sleep/${id}`, { score: 64, duration_minutes: 440 });
      await becomes(athlete, { duration_minutes: 440, quality_score: 64 });

      const nap = provider === 'oura' ? { type: 'sleep' } : { nap: true };
      await slept(vendorId, { duration_minutes: 500, ...nap });
      const { id: other } = await slept(vendorId, { duration_minutes: 300, score: 50 });
      await becomes(athlete, { duration_minutes: 440 });

      await world.control('DELETE', `sleep/${id}`);
      await becomes(athlete, { duration_minutes: 300 });
      await world.control('DELETE', `sleep/${other}`);
      await becomes(athlete, undefined);
    },
    180_000,
  );

  it('waits for the score of a night of WHOOP', async () => {
    const { athlete, vendorId } = await connected('whoop');
    const { id } = await slept(vendorId, { duration_minutes: 431, state: 'PENDING_SCORE' });
    await eventually('it has been fetched', async () => {
      const rows = await world.rows(
        "select 1 from sleep_session where state = 'pending' and record_id = $1",
        [id],
      );
      return rows.length === 1;
    });
    expect(await nightOf(athlete)).toBeUndefined();
    await world.control('PATCH', `sleep/${id}`, { state: 'SCORED', score: 77 });
    await becomes(athlete, { quality_score: 77 });
  });

  it('forgets what a vendor brought when its connection is cut', async () => {
    const { athlete, vendorId } = await connected('whoop');
    await slept(vendorId, { duration_minutes: 431, score: 80 });
    await becomes(athlete, { duration_minutes: 431 });
    await world.call(athlete, 'DELETE', '/v1/connections/whoop');
    await becomes(athlete, undefined);
  });

  it('charges each call to the budget of its vendor', async () => {
    const { athlete, vendorId } = await connected('whoop');
    await slept(vendorId, { duration_minutes: 431, score: 80 });
    await becomes(athlete, { duration_minutes: 431 });
    const rows = await world.rows<{ endpoint: string; status: number }>(
      'select endpoint, status from whoop_api_requests where user_id = $1',
      [athlete],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every(({ endpoint, status }) => endpoint === 'sleep' && status === 200)).toBe(true);
  });

  it('answers Oura, in JSON, whether a subscription is wanted', async () => {
    const ask = (token: string) =>
      request(world.api.url).get('/webhooks/oura').query({ verification_token: token, challenge: 'c-1' });
    const { body } = await ask(verificationTokenOf(CLIENT.secret)).expect(200).expect('content-type', /json/);
    expect(body).toEqual({ challenge: 'c-1' });
    await ask('guessed').expect(401);
  });

  describe('a delivery that is not what it says', () => {
    const body = JSON.stringify({
      user_id: 1,
      id: randomUUID(),
      type: 'sleep.updated',
      trace_id: randomUUID(),
    });
    const deliver = (timestamp: string, signature: string, text = body) =>
      request(world.api.url)
        .post('/webhooks/whoop')
        .set({
          'content-type': 'application/json',
          'x-whoop-signature-timestamp': timestamp,
          'x-whoop-signature': signature,
        })
        .send(text);
    const sign = (timestamp: string, text = body) =>
      createHmac('sha256', CLIENT.secret).update(timestamp).update(text).digest('base64');

    it('is refused: a wrong signature, an old one, none, another body', async () => {
      const now = String(Date.now());
      const old = String(Date.now() - 301_000);
      await deliver(now, sign(now)).expect(200);
      await deliver(now, sign(old)).expect(401);
      await deliver(old, sign(old)).expect(401);
      await deliver(now, '').expect(401);
      await deliver(now, sign(now), body.replace('updated', 'deleted')).expect(401);
      await request(world.api.url).post('/webhooks/oura').send({}).expect(401);
      await request(world.api.url).get('/webhooks/oura?verification_token=guessed&challenge=x').expect(401);
    });

    it('is kept once, however often it is sent, and named where it is no event', async () => {
      const now = String(Date.now());
      await deliver(now, sign(now)).expect(200);
      await deliver(now, sign(now)).expect(200);
      const other = body.replace('sleep.', 'workout.');
      await deliver(now, sign(now, other), other).expect(200);
      const { text } = await request(world.api.url).get('/metrics').expect(200);
      for (const result of ['received', 'duplicate', 'ignored'])
        expect(text).toMatch(
          new RegExp(`^webhook_events_total{vendor="whoop",result="${result}"} [1-9]`, 'm'),
        );
      const answer = await deliver(now, sign(now, '{"user_id":1}'), '{"user_id":1}').expect(400);
      expect((answer.body as { details: string[] }).details.join()).toContain('trace_id');
    });
  });
});
