import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { verificationTokenOf } from '#vendors';
import { eventually } from '../harness/eventually.js';
import { CLIENT } from '../harness/simulator.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

interface NightBody {
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: string;
}

const DATE = new Date(Date.now() - 8 * 86_400_000).toISOString().slice(0, 10);

describe('sleep that Oura and WHOOP send', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ timeScale: 1 });
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
  });
  afterAll(async () => {
    await world?.stop();
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
  // The test reads the night from the database, because the api limits requests.
  const nightOf = async (athlete: string, date = DATE) => {
    const [night] = await world.rows<NightBody>(
      'select duration_minutes, quality_score, vendor from sleep_data where user_id = $1 and date = $2',
      [athlete, date],
    );
    return night;
  };
  const becomes = (athlete: string, expected: Partial<NightBody> | undefined, date = DATE) =>
    eventually(
      JSON.stringify(expected ?? 'no night'),
      async () => {
        const night = await nightOf(athlete, date);
        if (!expected) return night === undefined;
        return (
          night && Object.entries(expected).every(([name, value]) => night[name as keyof NightBody] === value)
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
    'a night of %s is stored, gets its new score, and is removed when the vendor deletes it',
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

  it('a night of WHOOP is listed once it has a score', async () => {
    const { athlete, vendorId } = await connected('whoop');
    const { id } = await slept(vendorId, { duration_minutes: 431, state: 'PENDING_SCORE' });
    await eventually('the pending sleep is fetched', async () => {
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

  it('disconnecting a vendor deletes its nights', async () => {
    const { athlete, vendorId } = await connected('whoop');
    await slept(vendorId, { duration_minutes: 431, score: 80 });
    await becomes(athlete, { duration_minutes: 431 });
    await world.call(athlete, 'DELETE', '/v1/connections/whoop');
    await becomes(athlete, undefined);
  });

  it('each fetch of a sleep from WHOOP is in the ledger of calls to WHOOP', async () => {
    const { athlete, vendorId } = await connected('whoop');
    await slept(vendorId, { duration_minutes: 431, score: 80 });
    await becomes(athlete, { duration_minutes: 431 });
    // A call under way has no status yet. It may be one of the reconciliation.
    const rows = await world.rows<{ endpoint: string; status: number }>(
      'select endpoint, status from whoop_api_requests where user_id = $1 and status is not null',
      [athlete],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every(({ endpoint, status }) => endpoint === 'sleep' && status === 200)).toBe(true);
  });

  it('GET /webhooks/oura returns the challenge in JSON, or 401 to a wrong verification token', async () => {
    const challenge = (token: string) =>
      request(world.api.url).get('/webhooks/oura').query({ verification_token: token, challenge: 'c-1' });
    const { body } = await challenge(verificationTokenOf(CLIENT.secret))
      .expect(200)
      .expect('content-type', /json/);
    expect(body).toEqual({ challenge: 'c-1' });
    await challenge('guessed').expect(401);
  });

  describe('webhooks of WHOOP and Oura', () => {
    const bodyOf = (user_id: number | string) =>
      JSON.stringify({ user_id, id: randomUUID(), type: 'sleep.updated', trace_id: randomUUID() });
    const body = bodyOf(1);
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

    it('webhooks of WHOOP and Oura answer 401 to a wrong, old or missing signature and to a changed body', async () => {
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

    it('an event of WHOOP is counted as received, duplicate or ignored, and a malformed event is answered 400', async () => {
      const now = String(Date.now());
      const owned = bodyOf(Number((await connected('whoop')).vendorId));
      await deliver(now, sign(now, owned), owned).expect(200);
      await deliver(now, sign(now, owned), owned).expect(200);
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
