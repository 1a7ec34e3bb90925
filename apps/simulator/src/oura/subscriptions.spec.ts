import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness, until } from '../simulator.harness.js';
import { Callback, CLIENT_ID, openSimulator, SECRETS } from '../wearables/wearable.harness.js';
import { DATA_TYPES } from './oura-facts.js';

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

describe('subscriptions of Oura', () => {
  it('the subscription API of Oura takes x-client-id and x-client-secret and answers 401 to a bearer token', async () => {
    expect((await manage('GET')).status).toBe(200);
    expect((await manage('GET', '', undefined, { authorization: 'Bearer some-token' })).status).toBe(401);
    expect((await manage('GET', '', undefined, { ...APP, 'x-client-secret': 'wrong' })).status).toBe(401);
  });

  it('POST of an Oura subscription answers 201 with id, callback_url, event_type, data_type and expiration_time', async () => {
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

  it('GET of Oura subscriptions answers a bare array, and GET by id answers one subscription', async () => {
    const { body: made } = await manage('POST', '', terms());
    expect((await manage('GET')).body).toEqual([made]);
    expect((await manage('GET', `/${made.id}`)).body).toEqual(made);
  });

  it('Oura answers 403 to GET of an unknown subscription, and by habit 404 or 403 to PUT, DELETE and renewal', async () => {
    const unknown = '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8';
    const answers = () =>
      Promise.all([
        manage('GET', `/${unknown}`),
        manage('PUT', `/${unknown}`, { verification_token: 'vt' }),
        manage('DELETE', `/${unknown}`),
        manage('PUT', `/renew/${unknown}`),
      ]);
    const [got, ...changed] = await answers();
    expect(got).toMatchObject({ status: 403, body: { detail: 'Forbidden' } });
    for (const { status, body } of changed) {
      expect(status).toBe(404);
      expect(body).toEqual({ detail: `No webhook id ${unknown} found.` });
    }
    await sim.json('PUT', '/oura/__sim/habits', { unknown_subscription_status: 403 });
    expect((await answers()).map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  });

  it('DELETE of an Oura subscription answers 204 and removes it', async () => {
    const { body: made } = await manage('POST', '', terms());
    expect((await manage('DELETE', `/${made.id}`)).status).toBe(204);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('PUT of an Oura subscription requires only verification_token, and changes only the given fields', async () => {
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
    [{ data_type: 'heartrate' }, 'data_type', 'enum', /^Input should be 'tag', 'enhanced_tag', .* or '\w+'$/],
    [{ event_type: 'created' }, 'event_type', 'enum', /^Input should be 'create', 'update' or 'delete'$/],
    [{ callback_url: 'hooks' }, 'callback_url', 'url_parsing', /^Input should be a valid URL/],
    [{ callback_url: 'ftp://a' }, 'callback_url', 'url_scheme', /^URL scheme should be 'http' or 'https'$/],
    [{ verification_token: 7 }, 'verification_token', 'string_type', /^Input should be a valid string$/],
    [{ verification_token: undefined }, 'verification_token', 'missing', /^Field required$/],
  ])(
    'POST of an Oura subscription with %j answers 422 with the message of pydantic 2 and names %s',
    async (changes, field, type, msg) => {
      const { status, body } = await manage('POST', '', terms(changes));
      expect(status).toBe(422);
      expect(body.detail).toHaveLength(1);
      expect(body.detail[0]).toMatchObject({
        type,
        loc: ['body', field],
        msg: expect.stringMatching(msg),
        url: `https://errors.pydantic.dev/2.7/v/${type}`,
      });
      expect(body.detail[0]).toHaveProperty('input');
    },
  );

  it('Oura accepts subscriptions for 23 data types, but not for heartrate, and for three event types', async () => {
    expect(DATA_TYPES).toHaveLength(23);
    expect(DATA_TYPES).not.toContain('heartrate');
    for (const data_type of DATA_TYPES) {
      expect((await manage('POST', '', terms({ data_type }))).status).toBe(201);
    }
    for (const event_type of ['create', 'delete']) {
      expect((await manage('POST', '', terms({ event_type }))).status).toBe(201);
    }
  });

  it('PUT of an Oura subscription challenges a new callback_url, and answers 422 if another subscription has the pair', async () => {
    const { body: made } = await manage('POST', '', terms());
    await manage('POST', '', terms({ data_type: 'daily_sleep' }));
    const elsewhere = { verification_token: 'vt-2', callback_url: `${callback.url}/new` };
    expect((await manage('PUT', `/${made.id}`, elsewhere)).status).toBe(200);
    expect(callback.requests.at(-1)!.url.pathname).toBe('/hooks/new');
    expect(callback.requests.at(-1)!.url.searchParams.get('verification_token')).toBe('vt-2');
    const taken = await manage('PUT', `/${made.id}`, {
      verification_token: 'vt',
      data_type: 'daily_sleep',
    });
    expect(taken.status).toBe(422);
    expect(taken.body.detail[0].loc).toEqual(['body', 'data_type']);
  });

  it('POST of an Oura subscription with a body that is not JSON answers 422', async () => {
    const headers = { ...APP, 'content-type': 'application/json' };
    const { status, body } = await sim.call('POST', SUBSCRIPTION, { headers, body: '{' });
    expect(status).toBe(422);
    expect(body.detail[0]).toMatchObject({ type: 'json_invalid', loc: ['body', 0] });
  });

  it('Oura allows one subscription per pair of event_type and data_type, and all may have the same URL', async () => {
    expect((await manage('POST', '', terms())).status).toBe(201);
    expect((await manage('POST', '', terms())).status).toBe(422);
    expect((await manage('POST', '', terms({ event_type: 'create' }))).status).toBe(201);
    expect((await manage('POST', '', terms({ data_type: 'daily_sleep' }))).status).toBe(201);
    expect((await manage('GET')).body).toHaveLength(3);
  });

  it('an Oura subscription expires after 90 days', async () => {
    const { body: made } = await manage('POST', '', terms());
    sim.time.advance(90 * DAY_MS - 1);
    expect((await manage('GET')).body).toEqual([made]);
    sim.time.advance(1);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('renewal of an Oura subscription answers 200 with a new expiration_time and sends no challenge', async () => {
    const { body: made } = await manage('POST', '', terms());
    sim.time.advance(60 * DAY_MS);
    const { status, body } = await manage('PUT', `/renew/${made.id}`);
    expect(status).toBe(200);
    expect(body.expiration_time).toBe('2027-04-17T14:00:00+00:00');
    expect(callback.requests).toHaveLength(1);
  });

  it('TIME_SCALE divides the 90 days of an Oura subscription', async () => {
    await sim.close();
    sim = await openSimulator(900);
    const { body } = await manage('POST', '', terms());
    expect(body.expiration_time).toBe('2026-11-18T16:24:00+00:00');
  });
});

describe('verification challenge of Oura', () => {
  it('Oura sends its challenge as an unsigned GET with verification_token and challenge while the POST is open', async () => {
    await manage('POST', '', terms({ callback_url: `${callback.url}?keep=1` }));
    const [{ method, url, headers }] = callback.requests as [(typeof callback.requests)[0]];
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
  ])('Oura refuses a subscription with 422 when the challenge is answered with %s', async (_name, react) => {
    callback.respond = react;
    const { status, body } = await manage('POST', '', terms());
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(['body', 'callback_url']);
    expect((await manage('GET')).body).toEqual([]);
  });

  it('Oura refuses a failed challenge with the status of the habit failed_challenge_status', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { failed_challenge_status: 400 });
    callback.respond = () => ({ status: 500 });
    expect((await manage('POST', '', terms())).status).toBe(400);
  });

  it('under the fault late_challenge POST of an Oura subscription answers HTML 504 after a minute and adds no subscription', async () => {
    await sim.sim('/faults', { vendor: 'oura', kind: 'late_challenge', delay_ms: 150_000, count: 1 });
    const pending = manage('POST', '', terms());
    await until(() => sim.time.pendingTimers === 2);
    sim.time.advance(60_000);
    const { status, headers, text } = await pending;
    expect(status).toBe(504);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toContain('504 Gateway Timeout');
    expect(callback.requests).toHaveLength(0);
    sim.time.advance(90_000);
    await until(() => callback.requests.length === 1);
    expect((await manage('GET')).body).toEqual([]);
    expect((await manage('POST', '', terms())).status).toBe(201);
  });

  it('under the fault ssl_error Oura answers 500 "SSLError" to POST of a subscription and sends no challenge', async () => {
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'subscriptions', kind: 'ssl_error', count: 1 });
    expect(await manage('POST', '', terms())).toMatchObject({ status: 500, text: 'SSLError' });
    expect(callback.requests).toHaveLength(0);
  });

  it('Oura refuses a subscription when the challenge is not answered within 10 seconds', async () => {
    callback.respond = () => undefined;
    const pending = manage('POST', '', terms());
    await until(() => callback.requests.length === 1);
    sim.time.advance(10_000);
    const { status, body } = await pending;
    expect(status).toBe(422);
    expect(body.detail[0].msg).toContain('10 seconds');
  });
});
