import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATA_TYPES } from './oura-facts.js';
import { type Harness, until } from '../simulator.harness.js';
import { Callback, CLIENT_ID, openSimulator, SECRETS } from '../wearables/wearable.harness.js';

const SUBSCRIPTION = '/oura/v2/webhook/subscription';
const APP = { 'x-client-id': CLIENT_ID, 'x-client-secret': SECRETS.oura };
const DAY_MS = 86_400_000;

let sim: Harness;
let callback: Callback;

beforeEach(async () => {
  sim = await openSimulator();
  callback = await Callback.open(() => sim.time.nowMs());
});
afterEach(async () => {
  await sim.close();
  await callback.close();
});

function manage(method: string, path = '', body?: unknown, headers: Record<string, string> = APP) {
  const init =
    body === undefined ? { headers } : { headers: { ...headers, 'content-type': 'application/json' } };
  return sim.call(
    method,
    SUBSCRIPTION + path,
    body === undefined ? init : { ...init, body: JSON.stringify(body) },
  );
}

function terms(changes: Record<string, unknown> = {}) {
  return {
    callback_url: callback.url,
    verification_token: 'vt-1',
    event_type: 'update',
    data_type: 'sleep',
    ...changes,
  };
}

describe('Oura subscription management', () => {
  it('is opened by x-client-id and x-client-secret, not by a bearer token', async () => {
    expect((await manage('GET')).status).toBe(200);
    expect((await manage('GET', '', undefined, { authorization: 'Bearer some-token' })).status).toBe(401);
    expect((await manage('GET', '', undefined, { ...APP, 'x-client-secret': 'wrong' })).status).toBe(401);
  });

  it('POST answers 201 with id, callback_url, event_type, data_type and expiration_time, not the token', async () => {
    const { status, body } = await manage('POST', '', terms());
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      callback_url: callback.url,
      event_type: 'update',
      data_type: 'sleep',
      expiration_time: '2027-02-16T14:00:00+00:00',
    });
  });

  it('GET lists a bare array; GET by id answers the subscription', async () => {
    const { body: made } = await manage('POST', '', terms());
    expect((await manage('GET')).body).toEqual([made]);
    expect((await manage('GET', `/${made.id}`)).body).toEqual(made);
  });

  it.each(['GET', 'PUT', 'DELETE'])('%s of an id that does not exist is 403', async (method) => {
    const body = method === 'PUT' ? { verification_token: 'vt' } : undefined;
    expect((await manage(method, '/0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8', body)).status).toBe(403);
  });

  it('renewing an id that does not exist is 403', async () => {
    expect((await manage('PUT', '/renew/0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8')).status).toBe(403);
  });

  it('DELETE answers 204 and the subscription is gone', async () => {
    const { body: made } = await manage('POST', '', terms());
    expect((await manage('DELETE', `/${made.id}`)).status).toBe(204);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('PUT needs the verification_token alone and changes what it is given', async () => {
    const { body: made } = await manage('POST', '', terms());
    expect((await manage('PUT', `/${made.id}`, { data_type: 'daily_sleep' })).status).toBe(422);
    const { status, body } = await manage('PUT', `/${made.id}`, {
      verification_token: 'vt-2',
      data_type: 'daily_sleep',
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...made, data_type: 'daily_sleep' });
  });

  it.each([
    [{ data_type: 'heartrate' }, 'data_type'],
    [{ event_type: 'created' }, 'event_type'],
    [{ callback_url: 'hooks' }, 'callback_url'],
    [{ verification_token: undefined }, 'verification_token'],
  ])("a 422 has FastAPI's body naming the field: %j", async (changes, field) => {
    const { status, body } = await manage('POST', '', terms(changes));
    expect(status).toBe(422);
    expect(body).toEqual({
      detail: [{ loc: ['body', field], msg: expect.any(String), type: expect.any(String) }],
    });
  });

  it('takes the 23 data types and the three event types, heartrate being none of them', async () => {
    expect(DATA_TYPES).toHaveLength(23);
    expect(DATA_TYPES).not.toContain('heartrate');
    for (const data_type of DATA_TYPES) {
      expect((await manage('POST', '', terms({ data_type }))).status).toBe(201);
    }
    for (const event_type of ['create', 'delete']) {
      expect((await manage('POST', '', terms({ event_type }))).status).toBe(201);
    }
  });

  it('PUT challenges a new callback_url, and refuses a pair that is taken', async () => {
    const { body: made } = await manage('POST', '', terms());
    await manage('POST', '', terms({ data_type: 'daily_sleep' }));
    const elsewhere = { verification_token: 'vt-2', callback_url: `${callback.url}/new` };
    expect((await manage('PUT', `/${made.id}`, elsewhere)).status).toBe(200);
    expect(callback.heard.at(-1)!.url.pathname).toBe('/hooks/new');
    expect(callback.heard.at(-1)!.url.searchParams.get('verification_token')).toBe('vt-2');
    const taken = await manage('PUT', `/${made.id}`, {
      verification_token: 'vt',
      data_type: 'daily_sleep',
    });
    expect(taken.status).toBe(422);
    expect(taken.body.detail[0].loc).toEqual(['body', 'data_type']);
  });

  it('a body that is no JSON is 422 as well', async () => {
    const headers = { ...APP, 'content-type': 'application/json' };
    const { status, body } = await sim.call('POST', SUBSCRIPTION, { headers, body: '{' });
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(['body']);
  });

  it('there is one subscription per event_type and data_type; the same URL may serve all pairs', async () => {
    expect((await manage('POST', '', terms())).status).toBe(201);
    expect((await manage('POST', '', terms())).status).toBe(422);
    expect((await manage('POST', '', terms({ event_type: 'create' }))).status).toBe(201);
    expect((await manage('POST', '', terms({ data_type: 'daily_sleep' }))).status).toBe(201);
    expect((await manage('GET')).body).toHaveLength(3);
  });

  it('a subscription lives 90 days and is then gone', async () => {
    const { body: made } = await manage('POST', '', terms());
    sim.time.advance(90 * DAY_MS - 1);
    expect((await manage('GET')).body).toEqual([made]);
    sim.time.advance(1);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('renewal answers 200 with a new expiration_time and repeats no challenge', async () => {
    const { body: made } = await manage('POST', '', terms());
    sim.time.advance(60 * DAY_MS);
    const { status, body } = await manage('PUT', `/renew/${made.id}`);
    expect(status).toBe(200);
    expect(body.expiration_time).toBe('2027-04-17T14:00:00+00:00');
    expect(callback.heard).toHaveLength(1);
  });

  it('TIME_SCALE shortens the 90 days', async () => {
    await sim.close();
    sim = await openSimulator(900);
    const { body } = await manage('POST', '', terms());
    expect(body.expiration_time).toBe('2026-11-18T16:24:00+00:00');
  });
});

describe('Oura verification challenge', () => {
  it('is a GET with verification_token and challenge, unsigned, while the POST is open', async () => {
    await manage('POST', '', terms({ callback_url: `${callback.url}?keep=1` }));
    const [{ method, url, headers }] = callback.heard as [(typeof callback.heard)[0]];
    expect(method).toBe('GET');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      keep: '1',
      verification_token: 'vt-1',
      challenge: expect.stringMatching(/^\w{16,}$/),
    });
    expect(headers['x-oura-signature']).toBeUndefined();
  });

  it.each([
    ['401', () => ({ status: 401, body: '{}' })],
    [
      'a plain-text echo',
      (heard: { url: URL }) => ({ status: 200, body: heard.url.searchParams.get('challenge')! }),
    ],
    ['another challenge', () => ({ status: 200, body: '{"challenge":"other"}' })],
  ])('answered with %s the subscription is refused with a 4xx and FastAPI detail', async (_name, react) => {
    callback.react = react;
    const { status, body } = await manage('POST', '', terms());
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(['body', 'callback_url']);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('may be refused with another status, for none is documented', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { failed_challenge_status: 400 });
    callback.react = () => ({ status: 500 });
    expect((await manage('POST', '', terms())).status).toBe(400);
  });

  it('must be answered in under 10 seconds', async () => {
    callback.react = () => undefined;
    const pending = manage('POST', '', terms());
    await until(() => callback.heard.length === 1);
    sim.time.advance(10_000);
    const { status, body } = await pending;
    expect(status).toBe(422);
    expect(body.detail[0].msg).toContain('10 seconds');
  });
});
