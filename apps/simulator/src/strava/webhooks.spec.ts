import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, Harness, Receiver, until } from '../simulator.harness.js';
import { Callback } from '../wearables/wearable.harness.js';
import { signEvent } from './events.js';

let sim: Harness;
let receiver: Receiver;
let athlete: Connected;

beforeEach(async () => {
  sim = await Harness.open();
  receiver = await Receiver.open();
  athlete = await sim.connect();
});
afterEach(async () => {
  await sim.close();
  await receiver.close();
});

const CREDENTIALS = 'client_id=4711&client_secret=strava-client-secret';

function subscribe(fields: Record<string, string> = {}) {
  return sim.form('/api/v3/push_subscriptions', {
    client_id: '4711',
    client_secret: 'strava-client-secret',
    callback_url: receiver.url,
    verify_token: 'vt',
    ...fields,
  });
}

function upload(order: Record<string, unknown> = {}) {
  return sim.sim('/activities', { athlete_id: athlete.id, ...order }) as Promise<{ id: string }>;
}

describe('Strava push subscription', () => {
  it('POST of a Strava subscription answers 201 after the callback has echoed hub.challenge', async () => {
    const { status, body } = await subscribe();
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number) });
    const { method, url } = receiver.received[0]!;
    expect(method).toBe('GET');
    expect(url.searchParams.get('hub.mode')).toBe('subscribe');
    expect(url.searchParams.get('hub.verify_token')).toBe('vt');
    expect(url.searchParams.get('hub.challenge')).toMatch(/^\w+$/);
  });

  it.each([404, 500, 302])(
    'POST of a Strava subscription answers "not verifiable" when the callback answers %i',
    async (answered) => {
      receiver.answer = () => answered;
      const { status, body } = await subscribe();
      expect(status).toBe(400);
      expect(body).toEqual({
        message: 'Bad Request',
        errors: [{ resource: 'PushSubscription', field: 'callback url', code: 'not verifiable' }],
      });
    },
  );

  it('POST of a Strava subscription answers "not verifiable" when the callback takes longer than two seconds', async () => {
    receiver.answer = () => undefined;
    const refused = subscribe();
    await until(() => receiver.received.length === 1);
    sim.time.advance(2000);
    expect((await refused).body.errors[0].code).toBe('not verifiable');
  });

  it.each([
    ['the challenge under another key', (challenge: string) => `{"hub_challenge":"${challenge}"}`],
    ['another challenge', () => '{"hub.challenge":"other"}'],
    ['the challenge as text', (challenge: string) => challenge],
  ])(
    'POST of a Strava subscription answers "not verifiable" when the callback echoes %s',
    async (_how, echo) => {
      const callback = await Callback.open(() => sim.time.nowMs());
      callback.respond = ({ url }) => ({ status: 200, body: echo(url.searchParams.get('hub.challenge')!) });
      expect((await subscribe({ callback_url: callback.url })).body.errors[0].code).toBe('not verifiable');
      await callback.close();
    },
  );

  it('POST of a second Strava subscription answers "already exists"', async () => {
    await subscribe();
    const { status, body } = await subscribe();
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ resource: 'PushSubscription', code: 'already exists' });
  });

  it('a Strava subscription is listed, its deletion answers 204, and then it is unknown', async () => {
    const { body } = await subscribe();
    const listed = await sim.get(`/api/v3/push_subscriptions?${CREDENTIALS}`);
    expect(listed.body).toMatchObject([{ id: body.id, callback_url: receiver.url, application_id: 4711 }]);
    const path = `/api/v3/push_subscriptions/${body.id}?${CREDENTIALS}`;
    expect((await sim.call('DELETE', path)).status).toBe(204);
    expect((await sim.call('DELETE', path)).status).toBe(404);
    expect((await sim.get(`/api/v3/push_subscriptions?${CREDENTIALS}`)).body).toEqual([]);
  });

  it('POST of a Strava subscription answers "too long" to a callback beyond 255 characters', async () => {
    const { status, body } = await subscribe({ callback_url: `${receiver.url}/${'x'.repeat(255)}` });
    expect(status).toBe(400);
    expect(body.errors[0]).toMatchObject({ field: 'callback url', code: 'too long' });
  });

  it('Strava subscription routes answer 400 without client_id or client_secret', async () => {
    expect((await sim.get('/api/v3/push_subscriptions')).status).toBe(400);
    expect((await subscribe({ client_secret: '' })).body.errors[0].field).toBe('client_secret');
    expect((await sim.call('DELETE', '/api/v3/push_subscriptions/1')).status).toBe(400);
  });

  it.each([
    ['callback_url', 'callback url'],
    ['verify_token', 'verify token'],
  ])('POST of a Strava subscription answers 400 without %s', async (name, field) => {
    const { status, body } = await subscribe({ [name]: '' });
    expect(status).toBe(400);
    expect(body.errors).toEqual([{ resource: 'PushSubscription', field, code: 'required' }]);
  });

  it('POST /__sim/reset keeps the Strava subscription, which belongs to the app', async () => {
    await subscribe();
    await sim.sim('/reset');
    expect((await sim.get(`/api/v3/push_subscriptions?${CREDENTIALS}`)).body).toHaveLength(1);
  });
});

describe('Strava event', () => {
  let subscriptionId: number;
  beforeEach(async () => {
    subscriptionId = await sim.subscribe(receiver);
  });

  it('a new activity sends a Strava create event with empty updates and epoch seconds', async () => {
    const { id } = await upload();
    const [event] = await receiver.waitForEvents(1);
    expect(event!.body).toEqual({
      aspect_type: 'create',
      event_time: sim.time.nowMs() / 1000,
      object_id: Number(id),
      object_type: 'activity',
      owner_id: Number(athlete.id),
      subscription_id: subscriptionId,
      updates: {},
    });
    expect(event!.headers['content-type']).toContain('application/json');
    expect(event!.headers['x-strava-signature']).toBeUndefined();
  });

  it('an edit sends title, type and privacy as strings, and a deletion sends a delete event', async () => {
    const { id } = await upload();
    const edit = { name: 'Evening Ride', sport_type: 'Ride', private: true };
    await receiver.waitForEvents(1);
    await sim.json('PATCH', `/__sim/activities/${id}`, edit);
    await receiver.waitForEvents(2);
    await sim.call('DELETE', `/__sim/activities/${id}`);
    const events = await receiver.waitForEvents(3);
    expect(events[1]!.body).toMatchObject({
      aspect_type: 'update',
      updates: { title: 'Evening Ride', type: 'Ride', private: 'true' },
    });
    expect(events[2]!.body).toMatchObject({ aspect_type: 'delete', object_id: Number(id) });
  });

  it('a PUT by the app itself sends a Strava update event', async () => {
    const { id } = await upload();
    await receiver.waitForEvents(1);
    await sim.json('PUT', `/api/v3/activities/${id}`, { name: 'Mine' }, athlete.accessToken);
    const events = await receiver.waitForEvents(2);
    expect(events[1]!.body).toMatchObject({ aspect_type: 'update', updates: { title: 'Mine' } });
  });

  it('a deauthorisation sends an update of the athlete with the string "false" in authorized', async () => {
    await sim.sim('/deauthorize', { athlete_id: athlete.id });
    const [event] = await receiver.waitForEvents(1);
    expect(event!.body).toMatchObject({
      aspect_type: 'update',
      object_type: 'athlete',
      object_id: Number(athlete.id),
      owner_id: Number(athlete.id),
      updates: { authorized: 'false' },
    });
    expect((await sim.get('/api/v3/athlete', athlete.accessToken)).status).toBe(401);
  });

  it('a Strava event carries ids beyond 2^53 with every digit', async () => {
    await upload({ id: '9007199254740993' });
    const [event] = await receiver.waitForEvents(1);
    expect(event!.text).toContain('"object_id":9007199254740993,');
  });

  it('Strava sends no event for an athlete that never connected or has deauthorized the app', async () => {
    await sim.sim('/deauthorize', { athlete_id: athlete.id });
    await upload();
    const other = (await sim.sim('/athletes', { provider: 'strava', activities: 0 })) as { id: string };
    await sim.sim('/activities', { athlete_id: other.id });
    expect((await sim.stats()).strava.webhooks.sent).toBe(1);
  });

  it('a change of privacy sends a delete or a create event to an app with only activity:read', async () => {
    const reader = await sim.connect({ scopes: ['read', 'activity:read'] });
    const { id } = (await sim.sim('/activities', { athlete_id: reader.id })) as { id: string };
    await receiver.waitForEvents(1);
    await sim.json('PATCH', `/__sim/activities/${id}`, { private: true });
    await receiver.waitForEvents(2);
    await sim.json('PATCH', `/__sim/activities/${id}`, { private: false });
    const events = await receiver.waitForEvents(3);
    expect(events.map(({ body }) => body.aspect_type as string)).toEqual(['create', 'delete', 'create']);
  });
});

describe('delivery of Strava events', () => {
  beforeEach(() => sim.subscribe(receiver));
  const webhooks = async () => (await sim.stats()).strava.webhooks as unknown;

  it('a Strava event answered with 200 counts as acknowledged', async () => {
    await upload();
    await receiver.waitForEvents(1);
    await until(() => sim.core.judge.stats().strava.webhooks.acked === 1);
    expect(await webhooks()).toMatchObject({ sent: 1, acked: 1, retried: 0 });
  });

  it.each([201, 202, 204, 301, 404])('a Strava event answered with %i is sent again', async (status) => {
    receiver.answer = (_event, attempt) => (attempt === 1 ? status : 200);
    await upload();
    await receiver.waitForEvents(1);
    await until(() => sim.core.outbox.inFlight === 0);
    sim.time.advance(120_000);
    await receiver.waitForEvents(2);
    await until(() => sim.core.judge.stats().strava.webhooks.acked === 1);
  });

  it('the fault slow delivers a Strava event a quarter of an hour late', async () => {
    await sim.sim('/faults', {
      vendor: 'strava',
      endpoint: 'webhooks',
      kind: 'slow',
      delay_ms: 900_000,
      count: 1,
    });
    const { id } = await upload();
    sim.time.advance(899_999);
    expect(await webhooks()).toMatchObject({ sent: 0 });
    sim.time.advance(1);
    const [event] = await receiver.waitForEvents(1);
    expect(event!.body.object_id).toBe(Number(id));
    expect(event!.body.event_time).toBe(sim.time.nowMs() / 1000 - 900);
  });

  it('a Strava event is sent three times and then lost', async () => {
    receiver.answer = () => 500;
    await upload();
    for (const attempt of [1, 2, 3]) {
      await receiver.waitForEvents(attempt);
      await until(() => sim.core.outbox.inFlight === 0);
      sim.time.advance(120_000);
    }
    expect(receiver.events).toHaveLength(3);
    expect(new Set(receiver.events.map(({ text }) => text)).size).toBe(1);
    expect(await webhooks()).toMatchObject({ sent: 1, acked: 0, retried: 2, failed: 1 });
    expect(sim.time.pendingTimers).toBe(0);
  });

  it('a Strava event without an answer within two seconds is sent again', async () => {
    receiver.answer = (_event, attempt) => (attempt === 1 ? undefined : 200);
    await upload();
    await receiver.waitForEvents(1);
    sim.time.advance(1999);
    expect(sim.core.judge.stats().strava.webhooks).toMatchObject({ retried: 0 });
    sim.time.advance(1);
    await until(() => sim.core.outbox.inFlight === 0);
    sim.time.advance(120_000);
    await receiver.waitForEvents(2);
    await until(() => sim.core.judge.stats().strava.webhooks.acked === 1);
    expect(await webhooks()).toMatchObject({ sent: 1, acked: 1, retried: 1 });
  });

  it('POST /__sim/reset ends the retries of Strava events', async () => {
    receiver.answer = () => undefined;
    await upload();
    await receiver.waitForEvents(1);
    await sim.sim('/reset');
    await until(() => sim.core.outbox.inFlight === 0);
    sim.time.advance(600_000);
    expect(receiver.events).toHaveLength(1);
    expect(await webhooks()).toEqual({ sent: 0, acked: 0, retried: 0, failed: 0, dropped: 0 });
  });

  it('the fault drop loses Strava events, double sends them twice and reorder swaps them', async () => {
    await sim.sim('/faults', { vendor: 'strava', endpoint: 'webhooks', kind: 'drop', count: 1 });
    await upload();
    await sim.sim('/faults', { vendor: 'strava', endpoint: 'webhooks', kind: 'double', count: 1 });
    const doubled = await upload();
    await receiver.waitForEvents(2);
    await sim.sim('/faults', { vendor: 'strava', endpoint: 'webhooks', kind: 'reorder', count: 1 });
    const overtaken = await upload();
    const overtaking = await upload();
    const events = await receiver.waitForEvents(4);
    const ids = events.map(({ body }) => String(body.object_id));
    expect(ids.slice(0, 2)).toEqual([doubled.id, doubled.id]);
    expect(ids.slice(2)).toEqual([overtaking.id, overtaken.id]);
    expect(await webhooks()).toMatchObject({ dropped: 1, sent: 4 });
  });
});

it('a Strava event held back by the fault reorder is sent after a minute if no other event comes', async () => {
  await sim.subscribe(receiver);
  await sim.sim('/faults', { vendor: 'strava', endpoint: 'webhooks', kind: 'reorder', count: 1 });
  await upload();
  expect(receiver.events).toEqual([]);
  sim.time.advance(60_000);
  await receiver.waitForEvents(1);
});

it('Strava signs each attempt anew with X-Strava-Signature when a signing secret is configured', async () => {
  await sim.close();
  sim = await Harness.open({ apps: { strava: { signingSecret: 'strava-signing-secret' } } });
  athlete = await sim.connect();
  await sim.subscribe(receiver);
  receiver.answer = (_event, attempt) => (attempt === 1 ? 500 : 200);
  await upload();
  await receiver.waitForEvents(1);
  await until(() => sim.core.outbox.inFlight === 0);
  sim.time.advance(120_000);
  const events = await receiver.waitForEvents(2);
  const seconds = sim.time.nowMs() / 1000;
  expect(events.map(({ headers }) => headers['x-strava-signature'])).toEqual(
    [seconds - 120, seconds].map((at) => signEvent('strava-signing-secret', at, events[0]!.text)),
  );
});
