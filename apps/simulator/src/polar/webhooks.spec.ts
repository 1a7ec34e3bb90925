import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness, until } from '../simulator.harness.js';
import { Attempts, Callback, openSimulator } from '../wearables/wearable.harness.js';
import { authorized, connect, setHabits, train, webhookCall } from './polar.harness.js';
import { signPolarEvent } from './webhook.js';

const BOTH = ['EXERCISE', 'SLEEP'];
const DAY_MS = 86_400_000;

let sim: Harness;
let callback: Callback;
let athlete: { id: string; token: string };

beforeEach(async () => {
  sim = await openSimulator();
  callback = await Callback.open(() => sim.time.nowMs());
  callback.respond = () => ({ status: 200 });
  athlete = await connect(sim);
});
afterEach(async () => {
  await sim.close();
  await callback.close();
});

const post = (terms: Record<string, unknown> = {}) =>
  webhookCall(sim, 'POST', '', { events: BOTH, url: callback.url, ...terms });
const listed = async () => (await webhookCall(sim, 'GET')).body.data as Record<string, unknown>[];
const counts = () => sim.core.judge.stats().polar.webhooks;

async function create(terms: Record<string, unknown> = {}) {
  const { body } = await post(terms);
  return body.data as { id: string; signature_secret_key: string };
}

function sleep(order: Record<string, unknown> = {}) {
  return sim.sim('/sleep', { athlete_id: athlete.id, date: '2026-11-17', ...order }) as Promise<{
    id: string;
  }>;
}

describe('Polar webhook', () => {
  it('signs a Polar event as lower-case hex HMAC-SHA256 of the body, with the key as text (vector of vendor-facts-polar 3)', () => {
    const body =
      '{"event":"EXERCISE","user_id":475,"entity_id":"aQlC83","timestamp":"2026-11-18T06:30:00Z","url":"https://www.polaraccesslink.com/v3/exercises/aQlC83"}';
    expect(signPolarEvent('abe1f3ae-fd33-11e8-8eb2-f2801f1b9fd1', body)).toBe(
      'f436587ad9806a4cb1211c3c7c14c97f92f49bea2e19a5543c523fdf17616617',
    );
  });

  it('POST of a Polar webhook sends an unsigned PING first and answers 201 with the key, which no other answer has', async () => {
    const { status, body } = await post();
    expect(status).toBe(201);
    expect(body.data).toEqual({
      id: expect.any(String),
      events: BOTH,
      url: callback.url,
      signature_secret_key: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const [ping] = callback.events;
    expect(JSON.parse(ping!.text)).toEqual({ timestamp: '2026-11-18T14:00:00.000Z', event: 'PING' });
    expect(ping!.headers['polar-webhook-event']).toBe('PING');
    expect(ping!.headers).not.toHaveProperty('polar-webhook-signature');
    expect(await listed()).toEqual([{ id: body.data.id, events: BOTH, url: callback.url, active: true }]);
  });

  it('the PING of a Polar webhook is signed when that habit is set', async () => {
    await setHabits(sim, { ping_signed: true });
    const { signature_secret_key: key } = await create();
    const [ping] = callback.events;
    expect(ping!.headers['polar-webhook-signature']).toBe(signPolarEvent(key, ping!.text));
  });

  it.each([204, 401, 500])(
    'POST of a Polar webhook answers 400 when the PING is answered with %i',
    async (status) => {
      callback.respond = () => ({ status });
      const answer = await post();
      expect(answer.status).toBe(400);
      expect(Object.keys(answer.body as object)).toEqual([
        'timestamp',
        'status',
        'errorType',
        'message',
        'corrId',
      ]);
      expect(await listed()).toEqual([]);
    },
  );

  it('POST of a Polar webhook answers 400 to a wrong URL, no events and unknown ones', async () => {
    for (const terms of [{ url: 'ftp://x' }, { url: undefined }, { events: [] }, { events: ['SWIM'] }])
      expect((await post(terms)).status).toBe(400);
    expect(callback.events).toEqual([]);
  });

  it('Polar allows one webhook per client: a second POST answers 409, also when two run at once', async () => {
    const statuses = (await Promise.all([post(), post()])).map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 409]);
    expect((await post()).status).toBe(409);
  });

  it('the webhook calls of Polar take HTTP Basic only', async () => {
    expect((await sim.get('/polar/v3/webhooks', athlete.token)).status).toBe(401);
    expect((await sim.get('/polar/v3/webhooks')).status).toBe(401);
    expect((await webhookCall(sim, 'GET')).body).toEqual({ data: [] });
  });

  it('PATCH of a Polar webhook changes events without a PING and pings a new URL first, with the same key', async () => {
    const { id, signature_secret_key: key } = await create();
    expect((await webhookCall(sim, 'PATCH', `/${id}`, { events: ['SLEEP'] })).body.data).toMatchObject([
      { events: ['SLEEP'] },
    ]);
    expect(callback.events).toHaveLength(1);
    const moved = await Callback.open(() => sim.time.nowMs());
    moved.respond = () => ({ status: 500 });
    expect((await webhookCall(sim, 'PATCH', `/${id}`, { url: moved.url })).status).toBe(400);
    moved.respond = () => ({ status: 200 });
    expect((await webhookCall(sim, 'PATCH', `/${id}`, { url: moved.url })).status).toBe(200);
    await sleep();
    const event = (await moved.waitForEvents(3))[2]!;
    expect(event.headers['polar-webhook-signature']).toBe(signPolarEvent(key, event.text));
    await moved.close();
    expect((await webhookCall(sim, 'PATCH', '/unknown', {})).status).toBe(404);
  });

  it('DELETE of a Polar webhook answers 204, then 404, and a new one has another key', async () => {
    const first = await create();
    expect((await webhookCall(sim, 'DELETE', `/${first.id}`)).status).toBe(204);
    expect((await webhookCall(sim, 'DELETE', `/${first.id}`)).status).toBe(404);
    expect((await create()).signature_secret_key).not.toBe(first.signature_secret_key);
  });

  it('activation and deactivation of the Polar webhook answer 204 without a webhook, else 200, and activation sends a PING', async () => {
    expect((await webhookCall(sim, 'POST', '/activate')).status).toBe(204);
    expect((await webhookCall(sim, 'POST', '/deactivate')).status).toBe(204);
    await create();
    expect((await webhookCall(sim, 'POST', '/deactivate')).status).toBe(200);
    expect(await listed()).toMatchObject([{ active: false }]);
    expect((await webhookCall(sim, 'POST', '/activate')).status).toBe(200);
    expect(await listed()).toMatchObject([{ active: true }]);
    expect(callback.events).toHaveLength(2);
  });

  it('a Polar webhook survives a reset of the simulator', async () => {
    const { id } = await create();
    await sim.sim('/reset');
    expect(await listed()).toMatchObject([{ id }]);
  });
});

describe('Polar event', () => {
  it('the Polar event EXERCISE names the user as a number and the exercise, signed over the sent bytes', async () => {
    const { signature_secret_key: key } = await create();
    const { id } = await train(sim, athlete.id);
    const event = (await callback.waitForEvents(2))[1]!;
    expect(JSON.parse(event.text)).toEqual({
      event: 'EXERCISE',
      user_id: Number(athlete.id),
      entity_id: id,
      timestamp: '2026-11-18T14:00:00.000Z',
      url: `https://www.polaraccesslink.com/v3/exercises/${id}`,
    });
    expect(Object.keys(JSON.parse(event.text) as object)).toEqual([
      'event',
      'user_id',
      'entity_id',
      'timestamp',
      'url',
    ]);
    expect(event.headers['polar-webhook-event']).toBe('EXERCISE');
    expect(event.headers['polar-webhook-signature']).toBe(signPolarEvent(key, event.text));
  });

  it('the Polar event SLEEP names user and date and has no entity_id', async () => {
    await create();
    await sleep();
    const event = (await callback.waitForEvents(2))[1]!;
    expect(JSON.parse(event.text)).toEqual({
      event: 'SLEEP',
      user_id: Number(athlete.id),
      date: '2026-11-17',
      timestamp: '2026-11-18T14:00:00.000Z',
      url: 'https://www.polaraccesslink.com/v3/users/sleep/2026-11-17',
    });
  });

  it('Polar sends only the events that the webhook names, and only of registered users', async () => {
    await create({ events: ['SLEEP'] });
    const stranger = await authorized(sim);
    await train(sim, athlete.id);
    await sim.sim('/sleep', { athlete_id: stranger.id });
    await sleep();
    await callback.waitForEvents(2);
    expect(counts()).toMatchObject({ sent: 1 });
  });

  it.each([
    [false, 0],
    [true, 1],
  ])(
    'with the habit events_after_revocation %s Polar sends %i events of a user who has revoked',
    async (habit, sent) => {
      await create();
      await setHabits(sim, { events_after_revocation: habit });
      await sim.sim('/deauthorize', { athlete_id: athlete.id });
      await sleep();
      await until(() => counts().acked === sent);
      expect(counts().sent).toBe(sent);
    },
  );

  it('Polar sends no event for an edit, unless the habit edits_send_events is set, and none for a deletion', async () => {
    const made = await train(sim, athlete.id);
    const slept = await sleep();
    await create();
    const edit = async () => {
      await sim.json('PATCH', `/__sim/activities/${made.id}`, { calories: 5 });
      await sim.json('PATCH', `/__sim/sleep/${slept.id}`, { score: 50 });
    };
    await edit();
    expect(counts().sent).toBe(0);
    await setHabits(sim, { edits_send_events: true });
    await edit();
    await callback.waitForEvents(3);
    await sim.call('DELETE', `/__sim/activities/${made.id}`);
    await sim.call('DELETE', `/__sim/sleep/${slept.id}`);
    expect(counts().sent).toBe(2);
  });

  it.each([201, 204, 302, 400, 500])(
    'a Polar event answered with %i is retried, because only 200 is success',
    async (status) => {
      await create();
      callback.respond = () => ({ status });
      const attempts = new Attempts(sim.time);
      await sleep();
      await attempts.failed(1);
      callback.respond = () => ({ status: 200 });
      sim.time.advance(60_000);
      await until(() => counts().acked === 1);
      expect(counts()).toMatchObject({ sent: 1, retried: 1, acked: 1 });
    },
  );

  it('a Polar event is retried after the delays of the habit, with a fresh timestamp or that of the first attempt', async () => {
    const { signature_secret_key: key } = await create();
    for (const retry_timestamp of ['fresh', 'first'] as const) {
      await setHabits(sim, { retry_timestamp, retry_delays_seconds: [10] });
      callback.respond = () => ({ status: 500 });
      const before = callback.events.length;
      const attempts = new Attempts(sim.time);
      await sleep();
      await attempts.failed(1);
      callback.respond = () => ({ status: 200 });
      sim.time.advance(10_000);
      const [first, second] = (await callback.waitForEvents(before + 2)).slice(before);
      const stamp = (event: { text: string }) => (JSON.parse(event.text) as { timestamp: string }).timestamp;
      const apartMs = Date.parse(stamp(second!)) - Date.parse(stamp(first!));
      expect(apartMs).toBe(retry_timestamp === 'fresh' ? 10_000 : 0);
      expect(second!.headers['polar-webhook-signature']).toBe(signPolarEvent(key, second!.text));
      await until(() => counts().acked === (retry_timestamp === 'fresh' ? 1 : 2));
    }
  });

  it('seven days of failures deactivate the Polar webhook, and a success in between starts the count anew', async () => {
    await create();
    await setHabits(sim, { retry_delays_seconds: [] });
    const deliver = async (status: number) => {
      callback.respond = () => ({ status });
      const { failed, acked } = counts();
      await sleep();
      await until(() => counts().failed + counts().acked > failed + acked);
    };
    await deliver(500);
    sim.time.advance(6 * DAY_MS);
    await deliver(200);
    sim.time.advance(2 * DAY_MS);
    await deliver(500);
    expect(await listed()).toMatchObject([{ active: true }]);
    sim.time.advance(7 * DAY_MS);
    await deliver(500);
    expect(await listed()).toMatchObject([{ active: false }]);
    const { sent } = counts();
    await sleep();
    expect(counts().sent).toBe(sent);
  });

  it.each([
    [false, 0],
    [true, 1],
  ])(
    'with the habit missed_events_sent_on_activation %s the activation sends %i of the events missed by a deactivated Polar webhook',
    async (habit, events) => {
      await create();
      await setHabits(sim, { missed_events_sent_on_activation: habit });
      await webhookCall(sim, 'POST', '/deactivate');
      await sleep();
      await webhookCall(sim, 'POST', '/activate');
      await until(() => counts().acked === events);
      expect(counts().sent).toBe(events);
    },
  );

  it('Polar events are lost by the fault drop, sent twice by double and swapped by reorder', async () => {
    await create();
    const fault = (kind: string) => sim.sim('/faults', { vendor: 'polar', kind, count: 1 });
    await fault('drop');
    await sleep();
    expect(counts()).toMatchObject({ sent: 0, dropped: 1 });
    await fault('double');
    await sleep();
    await until(() => counts().acked === 2);
    await fault('reorder');
    const first = await train(sim, athlete.id);
    const second = await train(sim, athlete.id);
    const events = (await callback.waitForEvents(5)).slice(3);
    const ids = events.map(({ text }) => (JSON.parse(text) as { entity_id: string }).entity_id);
    expect(ids).toEqual([second.id, first.id]);
  });
});
