import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness, until } from '../simulator.harness.js';
import {
  Attempts,
  Callback,
  CLIENT_ID,
  connect,
  echoChallenge,
  openSimulator,
  SECRETS,
} from '../wearables/wearable.harness.js';
import { DEFAULT_HABITS } from './oura-facts.js';
import { signOuraEvent } from './oura-events.js';

let sim: Harness;
let callback: Callback;
let athlete: Connected;

beforeEach(async () => {
  sim = await openSimulator();
  callback = await Callback.open(() => sim.time.nowMs());
  athlete = await connect(sim, 'oura');
});
afterEach(async () => {
  await sim.close();
  await callback.close();
});

async function subscribe(...pairs: string[]): Promise<void> {
  for (const pair of pairs) {
    const [event_type, data_type] = pair.split(' ');
    const { status } = await sim.call('POST', '/oura/v2/webhook/subscription', {
      headers: {
        'x-client-id': CLIENT_ID,
        'x-client-secret': SECRETS.oura,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ callback_url: callback.url, verification_token: 'vt', event_type, data_type }),
    });
    expect(status).toBe(201);
  }
}

function subscriptions() {
  const headers = { 'x-client-id': CLIENT_ID, 'x-client-secret': SECRETS.oura };
  return sim.call('GET', '/oura/v2/webhook/subscription', { headers });
}

const ALL_SIX = ['create', 'update', 'delete'].flatMap((event) => [`${event} sleep`, `${event} daily_sleep`]);

function sync(order: Record<string, unknown> = {}) {
  return sim.sim('/sleep', { athlete_id: athlete.id, ...order });
}

function patch(id: string, order: Record<string, unknown>) {
  return sim.json('PATCH', `/__sim/sleep/${id}`, order);
}

function namesOf(events: { text: string }[]) {
  return events
    .map(({ text }) => JSON.parse(text) as Record<string, string>)
    .map(({ event_type, data_type }) => `${event_type} ${data_type}`);
}

const webhooks = () => sim.core.judge.stats().oura.webhooks;

describe('Oura event', () => {
  it('an Oura event carries event_type, data_type, object_id, event_time with offset and user_id as compact JSON', async () => {
    await subscribe('create sleep');
    const { id } = await sync();
    const [event] = await callback.waitForEvents(1);
    expect(event!.headers['content-type']).toBe('application/json');
    expect(event!.text).toBe(
      `{"event_type":"create","data_type":"sleep","object_id":"${id}","event_time":"2026-11-18T14:00:00+00:00","user_id":"${athlete.id}"}`,
    );
  });

  it('user_id of an Oura event equals the id of personal_info', async () => {
    await subscribe('create sleep');
    await sync();
    const [event] = await callback.waitForEvents(1);
    const { body } = await sim.get('/oura/v2/usercollection/personal_info', athlete.accessToken);
    expect(JSON.parse(event!.text).user_id).toBe(body.id);
  });

  it('an Oura event is signed with the client secret over the sent bytes: 13-digit milliseconds, upper-case hex', async () => {
    await subscribe('create sleep');
    await sync();
    const [event] = await callback.waitForEvents(1);
    const timestamp = event!.headers['x-oura-timestamp'] as string;
    expect(timestamp).toBe(String(Date.UTC(2026, 10, 18, 14)));
    expect(timestamp).toMatch(/^\d{13}$/);
    const expected = createHmac('sha256', SECRETS.oura)
      .update(timestamp + event!.text)
      .digest('hex');
    expect(event!.headers['x-oura-signature']).toBe(expected.toUpperCase());
  });

  it('an Oura event carries a 10-digit timestamp when the habit timestamp_unit is s', async () => {
    await subscribe('create sleep');
    await sim.json('PUT', '/oura/__sim/habits', { timestamp_unit: 's' });
    await sync();
    const [event] = await callback.waitForEvents(1);
    expect(event!.headers['x-oura-timestamp']).toMatch(/^\d{10}$/);
  });

  it('an Oura event goes only to the subscription of its event_type and data_type', async () => {
    await subscribe('update sleep', 'create daily_sleep');
    await sync();
    expect(namesOf(await callback.waitForEvents(1))).toEqual(['create daily_sleep']);
  });

  it('a new Oura night sends create of sleep and of daily_sleep, and a nap sends create of sleep and update of daily_sleep', async () => {
    await subscribe(...ALL_SIX);
    await sync();
    expect(namesOf(await callback.waitForEvents(2)).sort()).toEqual(['create daily_sleep', 'create sleep']);
    await sync({ nap: true, duration_minutes: 40 });
    expect(namesOf((await callback.waitForEvents(4)).slice(2)).sort()).toEqual([
      'create sleep',
      'update daily_sleep',
    ]);
  });

  it('a revision of an Oura sleep sends update events, and a deletion sends delete events and makes the document answer 404', async () => {
    const { id } = await sync();
    await subscribe(...ALL_SIX);
    await patch(id, { duration_minutes: 400 });
    expect(namesOf(await callback.waitForEvents(2)).sort()).toEqual(['update daily_sleep', 'update sleep']);
    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect(namesOf((await callback.waitForEvents(4)).slice(2)).sort()).toEqual([
      'delete daily_sleep',
      'delete sleep',
    ]);
    expect((await sim.get(`/oura/v2/usercollection/sleep/${id}`, athlete.accessToken)).status).toBe(404);
  });

  it('an Oura sleep of type deleted sends an update and stays readable', async () => {
    const { id } = await sync();
    await subscribe(...ALL_SIX);
    await patch(id, { type: 'deleted' });
    expect(namesOf(await callback.waitForEvents(2))).toContain('update sleep');
    const { status, body } = await sim.get(`/oura/v2/usercollection/sleep/${id}`, athlete.accessToken);
    expect(status).toBe(200);
    expect(body.type).toBe('deleted');
  });

  it('moving an Oura night to another day sends update of sleep, delete of the old daily_sleep and create of the new one', async () => {
    const { id } = await sync({ date: '2026-11-18' });
    await subscribe(...ALL_SIX);
    await patch(id, { date: '2026-11-17' });
    expect(namesOf(await callback.waitForEvents(3)).sort()).toEqual([
      'create daily_sleep',
      'delete daily_sleep',
      'update sleep',
    ]);
  });

  it('Oura sends no event after the person has ended the consent', async () => {
    await subscribe('create sleep');
    await sim.sim('/deauthorize', { athlete_id: athlete.id });
    await sync();
    expect(webhooks().sent).toBe(0);
  });

  it('Oura sends no event after the subscription has expired', async () => {
    await subscribe('create sleep');
    sim.time.advance(90 * 86_400_000);
    await sync();
    expect(webhooks().sent).toBe(0);
  });
});

describe('delivery of Oura events', () => {
  it.each([400, 404, 500, 503])(
    'Oura retries an event ten times on status %i, over about an hour',
    async (status) => {
      await subscribe('create sleep');
      callback.respond = () => ({ status });
      const attempts = new Attempts(sim.time);
      await sync();
      for (const [retry, seconds] of DEFAULT_HABITS.retry_delays_seconds.entries()) {
        await attempts.failed(retry + 1);
        sim.time.advance(seconds * 1000);
      }
      await until(() => webhooks().failed === 1);
      expect(callback.events).toHaveLength(11);
      expect(sim.time.pendingTimers).toBe(0);
      expect(webhooks()).toMatchObject({ sent: 1, retried: 10, failed: 1 });
      const tookMs = callback.events.at(-1)!.atMs - callback.events[0]!.atMs;
      expect(tookMs / 60_000).toBeGreaterThan(50);
      expect(tookMs / 60_000).toBeLessThan(75);
    },
  );

  it('Oura retries an event ten times if each attempt times out after 10 s', async () => {
    await subscribe('create sleep');
    callback.respond = () => undefined;
    const attempts = new Attempts(sim.time);
    await sync();
    for (const [retry, seconds] of [...DEFAULT_HABITS.retry_delays_seconds, 0].entries()) {
      await callback.waitForEvents(retry + 1);
      sim.time.advance(10_000);
      if (retry === DEFAULT_HABITS.retry_delays_seconds.length) break;
      await attempts.failed(retry + 1);
      sim.time.advance(seconds * 1000);
    }
    await until(() => webhooks().failed === 1);
    expect(webhooks()).toMatchObject({ sent: 1, retried: 10 });
  });

  it('Oura retries an event after the delays of the habit retry_delays_seconds', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { retry_delays_seconds: [1] });
    await subscribe('create sleep');
    callback.respond = () => ({ status: 500 });
    const attempts = new Attempts(sim.time);
    await sync();
    await attempts.failed(1);
    sim.time.advance(1000);
    await until(() => webhooks().failed === 1);
    expect(webhooks()).toMatchObject({ sent: 1, retried: 1 });
  });

  it('Oura delivers an event on the retry after a time-out of 10 s', async () => {
    await subscribe('create sleep');
    callback.respond = (_heard, event) => (event === 1 ? undefined : { status: 200 });
    const attempts = new Attempts(sim.time);
    await sync();
    await callback.waitForEvents(1);
    sim.time.advance(10_000);
    await attempts.failed(1);
    sim.time.advance(10_000);
    await callback.waitForEvents(2);
    await until(() => webhooks().acked === 1);
  });

  it.each([200, 202, 204])('an Oura event answered with %i is not retried', async (status) => {
    await subscribe('create sleep');
    callback.respond = () => ({ status });
    await sync();
    await until(() => webhooks().acked === 1);
    expect(sim.time.pendingTimers).toBe(0);
  });

  it('Oura cancels the subscription on status 410 and does not retry the event', async () => {
    await subscribe('create sleep', 'create daily_sleep');
    callback.respond = ({ text }) => ({ status: text.includes('daily_sleep') ? 200 : 410 });
    await sync();
    await until(() => webhooks().failed === 1 && webhooks().acked === 1);
    expect(sim.time.pendingTimers).toBe(0);
    expect((await subscriptions()).body).toEqual([expect.objectContaining({ data_type: 'daily_sleep' })]);
  });

  it.each([
    ['fresh', 10_000],
    ['first', 0],
  ])(
    'a retry of an Oura event has the timestamp of the habit retry_timestamp %s, %i ms after the first',
    async (retry_timestamp, laterMs) => {
      await sim.json('PUT', '/oura/__sim/habits', { retry_timestamp });
      await subscribe('create sleep');
      callback.respond = (_heard, event) => ({ status: event === 1 ? 500 : 200 });
      const attempts = new Attempts(sim.time);
      await sync();
      await attempts.failed(1);
      sim.time.advance(10_000);
      const [first, second] = await callback.waitForEvents(2);
      const stamp = (event: typeof first) => Number(event!.headers['x-oura-timestamp']);
      expect(stamp(second) - stamp(first)).toBe(laterMs);
      expect(second!.text).toBe(first!.text);
    },
  );

  it('the fault drop loses Oura events, double sends them twice and reorder swaps them', async () => {
    await subscribe('create sleep');
    callback.respond = echoChallenge;
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'drop', count: 1 });
    await sync();
    expect(webhooks()).toMatchObject({ dropped: 1, sent: 0 });
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'double', count: 1 });
    await sync();
    const [one, two] = await callback.waitForEvents(2);
    expect(one!.text).toBe(two!.text);
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'reorder', count: 1 });
    const overtaken = await sync();
    const overtaking = await sync();
    const [, , first, second] = await callback.waitForEvents(4);
    expect([first, second].map((event) => JSON.parse(event!.text).object_id as string)).toEqual([
      overtaking.id,
      overtaken.id,
    ]);
  });
});

describe('habits of Oura', () => {
  it('PUT /oura/__sim/habits changes the named habit and keeps the others', async () => {
    const { body: before } = await sim.get('/oura/__sim/habits');
    expect(before).toEqual(DEFAULT_HABITS);
    const { body } = await sim.json('PUT', '/oura/__sim/habits', { timestamp_unit: 's' });
    expect(body).toEqual({ ...DEFAULT_HABITS, timestamp_unit: 's' });
  });

  it.each([
    [{ timestamp_unit: 'us' }, 'timestamp_unit'],
    [{ retry_timestamp: 'last' }, 'retry_timestamp'],
    [{ retry_delays_seconds: [-1] }, 'retry_delays_seconds.0'],
    [{ failed_challenge_status: 500 }, 'failed_challenge_status'],
    [{ token_tier: '' }, 'token_tier'],
    [{ refresh_rotates: 'no' }, 'refresh_rotates'],
  ])('PUT /oura/__sim/habits answers 400 to %j and names %s', async (habits, field) => {
    const { status, body } = await sim.json('PUT', '/oura/__sim/habits', habits);
    expect(status).toBe(400);
    expect(body).toEqual({ error: 'Validation failed', details: [expect.stringMatching(`^${field}: `)] });
    expect((await sim.get('/oura/__sim/habits')).body).toEqual(DEFAULT_HABITS);
  });
});

describe('signOuraEvent', () => {
  it('signOuraEvent answers the upper-case hex HMAC-SHA256 of timestamp + body without separator (vector of vendor-facts 1.3)', () => {
    const body =
      '{"event_type":"update","data_type":"sleep","object_id":"6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11","event_time":"2026-11-18T06:30:00+00:00","user_id":"u-7c1"}';
    expect(signOuraEvent('oura-client-secret', '1795000000000', body)).toBe(
      'BFE84BD4825D8D8455D4151B68619DDE4FF95EECEA86EF1665D0F208ABAF194F',
    );
  });
});
