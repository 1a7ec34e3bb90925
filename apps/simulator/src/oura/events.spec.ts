import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness, until } from '../simulator.harness.js';
import { AS_NEW } from './oura-habits.js';
import {
  Attempts,
  Callback,
  CLIENT_ID,
  connect,
  echoChallenge,
  openSimulator,
  SECRETS,
} from '../wearables/wearable.harness.js';

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

describe('Oura events', () => {
  it('carry event_type, data_type, object_id, event_time with offset and user_id as compact JSON', async () => {
    await subscribe('create sleep');
    const { id } = await sync();
    const [event] = await callback.hears(1);
    expect(event!.headers['content-type']).toBe('application/json');
    expect(event!.text).toBe(
      `{"event_type":"create","data_type":"sleep","object_id":"${id}","event_time":"2026-11-18T14:00:00+00:00","user_id":"${athlete.id}"}`,
    );
  });

  it('user_id equals the id of personal_info', async () => {
    await subscribe('create sleep');
    await sync();
    const [event] = await callback.hears(1);
    const { body } = await sim.get('/oura/v2/usercollection/personal_info', athlete.accessToken);
    expect(JSON.parse(event!.text).user_id).toBe(body.id);
  });

  it('are signed with the client secret over the sent bytes: 13-digit milliseconds, upper-case hex', async () => {
    await subscribe('create sleep');
    await sync();
    const [event] = await callback.hears(1);
    const timestamp = event!.headers['x-oura-timestamp'] as string;
    expect(timestamp).toBe(String(Date.UTC(2026, 10, 18, 14)));
    expect(timestamp).toMatch(/^\d{13}$/);
    const expected = createHmac('sha256', SECRETS.oura)
      .update(timestamp + event!.text)
      .digest('hex');
    expect(event!.headers['x-oura-signature']).toBe(expected.toUpperCase());
  });

  it('may carry a 10-digit timestamp, as in the vendor sample, when the switch says so', async () => {
    await subscribe('create sleep');
    await sim.json('PUT', '/oura/__sim/habits', { timestamp_unit: 's' });
    await sync();
    const [event] = await callback.hears(1);
    expect(event!.headers['x-oura-timestamp']).toMatch(/^\d{10}$/);
  });

  it('go only to subscriptions of their pair', async () => {
    await subscribe('update sleep', 'create daily_sleep');
    await sync();
    expect(namesOf(await callback.hears(1))).toEqual(['create daily_sleep']);
  });

  it('tell of a new night as create of sleep and daily_sleep; of a nap as create of sleep, update of the day', async () => {
    await subscribe(...ALL_SIX);
    await sync();
    expect(namesOf(await callback.hears(2)).sort()).toEqual(['create daily_sleep', 'create sleep']);
    await sync({ nap: true, duration_minutes: 40 });
    expect(namesOf((await callback.hears(4)).slice(2)).sort()).toEqual([
      'create sleep',
      'update daily_sleep',
    ]);
  });

  it('a revision is an update, a deletion a delete event followed by 404 on fetch', async () => {
    const { id } = await sync();
    await subscribe(...ALL_SIX);
    await patch(id, { duration_minutes: 400 });
    expect(namesOf(await callback.hears(2)).sort()).toEqual(['update daily_sleep', 'update sleep']);
    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect(namesOf((await callback.hears(4)).slice(2)).sort()).toEqual([
      'delete daily_sleep',
      'delete sleep',
    ]);
    expect((await sim.get(`/oura/v2/usercollection/sleep/${id}`, athlete.accessToken)).status).toBe(404);
  });

  it('a deletion may also be an update whose document has type deleted', async () => {
    const { id } = await sync();
    await subscribe(...ALL_SIX);
    await patch(id, { type: 'deleted' });
    expect(namesOf(await callback.hears(2))).toContain('update sleep');
    const { status, body } = await sim.get(`/oura/v2/usercollection/sleep/${id}`, athlete.accessToken);
    expect(status).toBe(200);
    expect(body.type).toBe('deleted');
  });

  it('moving a night to another day updates the sleep, empties one day and writes the other', async () => {
    const { id } = await sync({ date: '2026-11-18' });
    await subscribe(...ALL_SIX);
    await patch(id, { date: '2026-11-17' });
    expect(namesOf(await callback.hears(3)).sort()).toEqual([
      'create daily_sleep',
      'delete daily_sleep',
      'update sleep',
    ]);
  });

  it('stop when the person ends the consent', async () => {
    await subscribe('create sleep');
    await sim.sim('/deauthorize', { athlete_id: athlete.id });
    await sync();
    expect(webhooks().sent).toBe(0);
  });

  it('stop when the subscription has expired', async () => {
    await subscribe('create sleep');
    sim.time.advance(90 * 86_400_000);
    await sync();
    expect(webhooks().sent).toBe(0);
  });
});

describe('Oura delivery', () => {
  it.each([400, 404, 500, 503])('retries ten times on %i, about an hour in all', async (status) => {
    await subscribe('create sleep');
    callback.react = () => ({ status });
    const attempts = new Attempts(sim.time);
    await sync();
    for (const [retry, seconds] of AS_NEW.retry_delays_seconds.entries()) {
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
  });

  it('retries ten times on a time-out of 10 s each', async () => {
    await subscribe('create sleep');
    callback.react = () => undefined;
    const attempts = new Attempts(sim.time);
    await sync();
    for (const [retry, seconds] of [...AS_NEW.retry_delays_seconds, 0].entries()) {
      await callback.hears(retry + 1);
      sim.time.advance(10_000);
      if (retry === AS_NEW.retry_delays_seconds.length) break;
      await attempts.failed(retry + 1);
      sim.time.advance(seconds * 1000);
    }
    await until(() => webhooks().failed === 1);
    expect(webhooks()).toMatchObject({ sent: 1, retried: 10 });
  });

  it('retries at other moments when told so, for the spacing is not published', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { retry_delays_seconds: [1] });
    await subscribe('create sleep');
    callback.react = () => ({ status: 500 });
    const attempts = new Attempts(sim.time);
    await sync();
    await attempts.failed(1);
    sim.time.advance(1000);
    await until(() => webhooks().failed === 1);
    expect(webhooks()).toMatchObject({ sent: 1, retried: 1 });
  });

  it('retries on a time-out of 10 s', async () => {
    await subscribe('create sleep');
    callback.react = (_heard, event) => (event === 1 ? undefined : { status: 200 });
    const attempts = new Attempts(sim.time);
    await sync();
    await callback.hears(1);
    sim.time.advance(10_000);
    await attempts.failed(1);
    sim.time.advance(10_000);
    await callback.hears(2);
    await until(() => webhooks().acked === 1);
  });

  it.each([200, 202, 204])('is done with any 2xx (%i)', async (status) => {
    await subscribe('create sleep');
    callback.react = () => ({ status });
    await sync();
    await until(() => webhooks().acked === 1);
    expect(sim.time.pendingTimers).toBe(0);
  });

  it('cancels the subscription on 410 and never retries', async () => {
    await subscribe('create sleep', 'create daily_sleep');
    callback.react = ({ text }) => ({ status: text.includes('daily_sleep') ? 200 : 410 });
    await sync();
    await until(() => webhooks().failed === 1 && webhooks().acked === 1);
    expect(sim.time.pendingTimers).toBe(0);
    expect((await subscriptions()).body).toEqual([expect.objectContaining({ data_type: 'daily_sleep' })]);
  });

  it.each([
    ['fresh', 10_000],
    ['first', 0],
  ])('a retry may be signed anew or repeat the old timestamp (%s)', async (retry_timestamp, laterMs) => {
    await sim.json('PUT', '/oura/__sim/habits', { retry_timestamp });
    await subscribe('create sleep');
    callback.react = (_heard, event) => ({ status: event === 1 ? 500 : 200 });
    const attempts = new Attempts(sim.time);
    await sync();
    await attempts.failed(1);
    sim.time.advance(10_000);
    const [first, second] = await callback.hears(2);
    const stamp = (event: typeof first) => Number(event!.headers['x-oura-timestamp']);
    expect(stamp(second) - stamp(first)).toBe(laterMs);
    expect(second!.text).toBe(first!.text);
  });

  it('may lose, double and swap events when a fault says so', async () => {
    await subscribe('create sleep');
    callback.react = echoChallenge;
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'drop', count: 1 });
    await sync();
    expect(webhooks()).toMatchObject({ dropped: 1, sent: 0 });
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'double', count: 1 });
    await sync();
    const [one, two] = await callback.hears(2);
    expect(one!.text).toBe(two!.text);
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'webhooks', kind: 'reorder', count: 1 });
    const overtaken = await sync();
    const overtaking = await sync();
    const [, , first, second] = await callback.hears(4);
    expect([first, second].map((event) => JSON.parse(event!.text).object_id as string)).toEqual([
      overtaking.id,
      overtaken.id,
    ]);
  });
});

describe('Oura’s habits', () => {
  it('are told, and keep what is not named', async () => {
    const { body: before } = await sim.get('/oura/__sim/habits');
    expect(before).toEqual(AS_NEW);
    const { body } = await sim.json('PUT', '/oura/__sim/habits', { timestamp_unit: 's' });
    expect(body).toEqual({ ...AS_NEW, timestamp_unit: 's' });
  });

  it.each([
    [{ timestamp_unit: 'us' }, 'timestamp_unit'],
    [{ retry_timestamp: 'last' }, 'retry_timestamp'],
    [{ retry_delays_seconds: [-1] }, 'retry_delays_seconds.0'],
    [{ failed_challenge_status: 500 }, 'failed_challenge_status'],
    [{ token_tier: '' }, 'token_tier'],
    [{ refresh_rotates: 'no' }, 'refresh_rotates'],
  ])('refuse %j naming the field', async (habits, field) => {
    const { status, body } = await sim.json('PUT', '/oura/__sim/habits', habits);
    expect(status).toBe(400);
    expect(body).toEqual({ error: 'Validation failed', details: [expect.stringMatching(`^${field}: `)] });
    expect((await sim.get('/oura/__sim/habits')).body).toEqual(AS_NEW);
  });
});
