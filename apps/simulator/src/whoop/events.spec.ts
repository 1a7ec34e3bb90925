import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness, until } from '../simulator.harness.js';
import { Attempts, Callback, connect, openSimulator, SECRETS } from '../wearables/wearable.harness.js';
import { DEFAULT_HABITS } from './whoop-facts.js';
import { signWhoopEvent } from './whoop-events.js';

let sim: Harness;
let callback: Callback;
let athlete: Connected;

beforeEach(async () => {
  sim = await openSimulator();
  callback = await Callback.open(() => sim.time.nowMs());
  athlete = await connect(sim, 'whoop');
  await sim.sim('/webhooks', { vendor: 'whoop', url: callback.url });
});
afterEach(async () => {
  await sim.close();
  await callback.close();
});

function record(order: Record<string, unknown> = {}) {
  return sim.sim('/sleep', { athlete_id: athlete.id, ...order }) as Promise<{ id: string }>;
}

function patch(id: string, order: Record<string, unknown>) {
  return sim.json('PATCH', `/__sim/sleep/${id}`, order);
}

function sleep(id: string) {
  return sim.get(`/whoop/v2/activity/sleep/${id}`, athlete.accessToken);
}

function bodiesOf(events: readonly { text: string }[]) {
  return events.map(({ text }) => JSON.parse(text) as { id: string; type: string; trace_id: string });
}

async function typesAfter(count: number, from = 0): Promise<string[]> {
  const events = await callback.waitForEvents(count);
  return bodiesOf(events.slice(from))
    .map(({ type }) => type)
    .sort();
}

const webhooks = () => sim.core.judge.stats().whoop.webhooks;

describe('WHOOP event', () => {
  it('WHOOP sends no challenge to the configured webhook URL', () => {
    expect(callback.requests).toEqual([]);
  });

  it('a WHOOP event carries user_id as a number, id, type and trace_id as compact JSON', async () => {
    const { id } = await record({ nap: true });
    const [event] = await callback.waitForEvents(1);
    const body = JSON.parse(event!.text);
    expect(event!.text).toBe(JSON.stringify(body));
    expect(Object.keys(body)).toEqual(['user_id', 'id', 'type', 'trace_id']);
    expect(body).toMatchObject({ user_id: Number(athlete.id), id, type: 'sleep.updated' });
    expect(body.trace_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('a WHOOP event has a base64 signature over the millisecond timestamp and the raw body', async () => {
    await record({ nap: true });
    const [event] = await callback.waitForEvents(1);
    const timestamp = event!.headers['x-whoop-signature-timestamp'] as string;
    expect(timestamp).toBe(String(Date.UTC(2026, 10, 18, 14)));
    const expected = createHmac('sha256', SECRETS.whoop)
      .update(timestamp + event!.text)
      .digest('base64');
    expect(event!.headers['x-whoop-signature']).toBe(expected);
  });

  it('a new WHOOP sleep sends sleep.updated and recovery.updated, and each event has the id of the sleep', async () => {
    const { id } = await record();
    expect(await typesAfter(2)).toEqual(['recovery.updated', 'sleep.updated']);
    const bodies = bodiesOf(callback.events);
    expect(bodies.map(({ id: named }) => named)).toEqual([id, id]);
    expect(bodies[0]!.trace_id).not.toBe(bodies[1]!.trace_id);
  });

  it('an edit of a WHOOP sleep sends sleep.updated and recovery.updated', async () => {
    const { id } = await record();
    await callback.waitForEvents(2);
    await patch(id, { duration_minutes: 333 });
    expect(await typesAfter(4, 2)).toEqual(['recovery.updated', 'sleep.updated']);
  });

  it('deleting a WHOOP sleep sends sleep.deleted and recovery.deleted', async () => {
    const { id } = await record();
    await callback.waitForEvents(2);
    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect(await typesAfter(4, 2)).toEqual(['recovery.deleted', 'sleep.deleted']);
    expect((await sleep(id)).status).toBe(404);
  });

  it('DELETE /v2/user/access answers 204, and WHOOP sends no more events', async () => {
    const path = '/whoop/v2/user/access';
    const headers = { authorization: `Bearer ${athlete.accessToken}` };
    expect((await sim.call('DELETE', path, { headers })).status).toBe(204);
    await record();
    expect(webhooks().sent).toBe(0);
    expect((await sim.get('/whoop/v2/user/profile/basic', athlete.accessToken)).status).toBe(401);
  });
});

describe('states of a WHOOP sleep', () => {
  it('a WHOOP sleep is PENDING_SCORE without a score, then SCORED, then scored again and at last deleted', async () => {
    const { id } = await record({ state: 'PENDING_SCORE', duration_minutes: 420 });
    expect(await typesAfter(1)).toEqual(['sleep.updated']);
    const pending = (await sleep(id)).body;
    expect(pending.score_state).toBe('PENDING_SCORE');
    expect(pending).not.toHaveProperty('score');

    await patch(id, { state: 'SCORED', score: 88 });
    expect(await typesAfter(3, 1)).toEqual(['recovery.updated', 'sleep.updated']);
    const scored = (await sleep(id)).body;
    expect(scored).toMatchObject({ score_state: 'SCORED', score: { sleep_performance_percentage: 88 } });
    expect(scored.updated_at > pending.updated_at).toBe(true);

    await patch(id, { score: 91 });
    await callback.waitForEvents(5);
    const rescored = (await sleep(id)).body;
    expect(rescored.score.sleep_performance_percentage).toBe(91);
    expect(rescored.updated_at > scored.updated_at).toBe(true);
    expect(rescored.created_at).toBe(pending.created_at);

    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect((await sleep(id)).status).toBe(404);
  });

  it('a pending WHOOP sleep gets its score after score_after_seconds', async () => {
    const { id } = await record({ score_after_seconds: 600, score: 77 });
    expect((await sleep(id)).body.score_state).toBe('PENDING_SCORE');
    await until(() => webhooks().acked === 1);
    sim.time.advance(600_000);
    expect(await typesAfter(3, 1)).toEqual(['recovery.updated', 'sleep.updated']);
    expect((await sleep(id)).body).toMatchObject({
      score_state: 'SCORED',
      score: { sleep_performance_percentage: 77 },
    });
  });

  it('an UNSCORABLE WHOOP sleep has no score', async () => {
    const { id } = await record({ state: 'UNSCORABLE' });
    const { body } = await sleep(id);
    expect(body.score_state).toBe('UNSCORABLE');
    expect(body).not.toHaveProperty('score');
  });

  it('a WHOOP sleep moves to another day', async () => {
    const { id } = await record({ date: '2026-11-17' });
    await patch(id, { date: '2026-11-16' });
    expect((await sleep(id)).body.end).toMatch(/^2026-11-1[56]T/);
  });
});

describe('delivery of WHOOP events', () => {
  it.each([301, 400, 404, 410, 500])(
    'WHOOP retries an event five times on status %i, over about an hour',
    async (status) => {
      callback.respond = () => ({ status });
      const attempts = new Attempts(sim.time);
      await record({ nap: true });
      for (const [retry, seconds] of DEFAULT_HABITS.retry_delays_seconds.entries()) {
        await attempts.failed(retry + 1);
        sim.time.advance(seconds * 1000);
      }
      await until(() => webhooks().failed === 1);
      expect(webhooks()).toMatchObject({ sent: 1, retried: 5 });
      expect(sim.time.pendingTimers).toBe(0);
      const tookMs = callback.events.at(-1)!.atMs - callback.events[0]!.atMs;
      expect(tookMs / 60_000).toBeGreaterThan(50);
      expect(tookMs / 60_000).toBeLessThan(75);
    },
  );

  it('WHOOP retries an event after a time-out with the same trace_id and a new signature', async () => {
    callback.respond = (_heard, event) => (event === 1 ? undefined : { status: 204 });
    const attempts = new Attempts(sim.time);
    await record({ nap: true });
    await callback.waitForEvents(1);
    sim.time.advance(10_000);
    await attempts.failed(1);
    sim.time.advance(60_000);
    const [first, second] = await callback.waitForEvents(2);
    expect(second!.text).toBe(first!.text);
    expect(second!.headers['x-whoop-signature']).not.toBe(first!.headers['x-whoop-signature']);
    await until(() => webhooks().acked === 1);
  });

  it.each([200, 202, 204])('a WHOOP event answered with %i is not retried', async (status) => {
    callback.respond = () => ({ status });
    await record({ nap: true });
    await until(() => webhooks().acked === 1);
    expect(sim.time.pendingTimers).toBe(0);
  });

  it('the fault drop loses WHOOP events, double sends them twice and reorder swaps them', async () => {
    const fault = (kind: string) =>
      sim.sim('/faults', { vendor: 'whoop', endpoint: 'webhooks', kind, count: 1 });
    await fault('drop');
    await record({ nap: true });
    expect(webhooks()).toMatchObject({ dropped: 1, sent: 0 });
    await fault('double');
    await record({ nap: true });
    const [one, two] = await callback.waitForEvents(2);
    expect(one!.text).toBe(two!.text);
    await fault('reorder');
    await record({ nap: false });
    expect(bodiesOf((await callback.waitForEvents(4)).slice(2)).map(({ type }) => type)).toEqual([
      'recovery.updated',
      'sleep.updated',
    ]);
  });

  it('the WHOOP habits change the retry delays, the time-out and the trace_id of a retry', async () => {
    const habits = { retry_delays_seconds: [1], delivery_timeout_ms: 500, retry_trace_id: 'fresh' };
    await sim.json('PUT', '/whoop/__sim/habits', habits);
    callback.respond = () => undefined;
    const attempts = new Attempts(sim.time);
    await record({ nap: true });
    await callback.waitForEvents(1);
    sim.time.advance(500);
    await attempts.failed(1);
    sim.time.advance(1000);
    const [first, second] = await callback.waitForEvents(2);
    const traces = bodiesOf([first!, second!]).map(({ trace_id }) => trace_id);
    expect(new Set(traces).size).toBe(2);
    expect(second!.headers['x-whoop-signature']).toBe(
      createHmac('sha256', SECRETS.whoop)
        .update((second!.headers['x-whoop-signature-timestamp'] as string) + second!.text)
        .digest('base64'),
    );
    sim.time.advance(500);
    await until(() => webhooks().failed === 1);
  });

  it.each([
    [{ retry_trace_id: 'none' }, 'retry_trace_id'],
    [{ delivery_timeout_ms: 0 }, 'delivery_timeout_ms'],
    [{ access_token_seconds: 0.5 }, 'access_token_seconds'],
  ])('PUT /whoop/__sim/habits answers 400 to %j and names %s', async (habit, field) => {
    const { status, body } = await sim.json('PUT', '/whoop/__sim/habits', habit);
    expect(status).toBe(400);
    expect(body.details[0]).toMatch(new RegExp(`^${field}: `));
  });

  it('TIME_SCALE divides the retry delays of WHOOP events', async () => {
    await sim.close();
    sim = await openSimulator(60);
    athlete = await connect(sim, 'whoop');
    await sim.sim('/webhooks', { vendor: 'whoop', url: callback.url });
    callback.respond = (_heard, event) => ({ status: event === 1 ? 500 : 200 });
    const attempts = new Attempts(sim.time);
    await record({ nap: true });
    await attempts.failed(1);
    sim.time.advance(1000);
    await callback.waitForEvents(2);
  });
});

describe('signWhoopEvent', () => {
  it('signWhoopEvent answers the base64 HMAC-SHA256 of millisecond timestamp + body without separator (vector of vendor-facts 2.2)', () => {
    const body =
      '{"user_id":10129,"id":"ecfc6a15-4661-442f-a9a4-f160dd7afae8","type":"sleep.updated","trace_id":"e369c784-5100-49e8-8098-75d35c47b31b"}';
    expect(signWhoopEvent('whoop-client-secret', '1795000000000', body)).toBe(
      'PgP7sdUzsCPxwM6dNCC6adzR1TFSoH4S2gpblCGXIKU=',
    );
  });
});
