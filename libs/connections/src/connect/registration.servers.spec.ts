import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadProductConfig } from '#vendors';
import {
  connect,
  ConnectionsHarness,
  keys,
  newAthlete,
  plainHttp,
  type ConnectionsWorker,
  tokenIn,
} from '../connections.harness.js';
import { rotateKeys } from '../crypto/rotate-keys.js';
import { Vault } from '../crypto/vault.js';
import { type Http, type HttpRequest } from '../oauth/http.js';
import { refreshes } from '../refresh/renewal.js';

// Polar is the vendor that registers athletes and issues no refresh token.
const POLAR = 'polar';

let harness: ConnectionsHarness;
let worker: ConnectionsWorker;
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  worker = await harness.worker();
});
afterEach(() => harness.simulator.clearFaults());
afterAll(() => harness.close());

const vendorSide = () => harness.simulator.newAthlete(POLAR);
const connected = (athlete: string, vendorId: string, at = worker) =>
  connect(harness, at, athlete, POLAR, { athlete_id: vendorId });
const statusOf = async (athlete: string) => (await worker.connections.list(athlete))[0]?.status;
const tokenOf = (athlete: string) => tokenIn(worker.tokens.access(athlete, POLAR));
const userCalls = () => harness.simulator.calls(POLAR, 'users');
const queued = async () => (await worker.database.query('select from revocation')).count;

async function newPair() {
  return { athlete: await newAthlete(worker), vendorId: await vendorSide() };
}

/** A worker whose requests are recorded. `replace` may answer a request with a status in the vendor's place. */
async function recorded(replace: (request: HttpRequest) => number | undefined = () => undefined) {
  const sent: HttpRequest[] = [];
  const http: Http = {
    call(request) {
      sent.push(request);
      const status = replace(request);
      if (status === undefined) return plainHttp.call(request);
      return Promise.resolve({ kind: 'answered', answer: { status, headers: {}, body: Buffer.alloc(0) } });
    },
  };
  return { sent, at: await harness.worker({ http }) };
}

const pathOf = ({ method, url }: HttpRequest) => `${method} ${new URL(url).pathname}`;

describe('the registration of an athlete at the vendor', () => {
  it('an athlete is registered at Polar after the exchange of the code, each time with a new member id', async () => {
    const { sent, at } = await recorded();
    const memberIds: string[] = [];
    for (const { athlete, vendorId } of [await newPair(), await newPair()]) {
      sent.length = 0;
      expect((await connected(athlete, vendorId, at)).end.kind).toBe('connected');
      expect(sent.map(pathOf)).toEqual(['POST /polar/v2/oauth2/token', 'POST /polar/v3/users']);
      const [exchange, registration] = sent;
      expect(exchange?.headers?.authorization).toMatch(/^Basic /);
      expect(exchange?.body).not.toContain('secret');
      const body = JSON.parse(registration?.body ?? '') as Record<string, string>;
      expect(body).toEqual({ 'member-id': expect.stringMatching(/^[0-9a-f]{32}$/) });
      memberIds.push(body['member-id'] ?? '');
    }
    expect(new Set(memberIds).size).toBe(2);
  });

  it('a consent to Polar succeeds after a 409 and a GET that answers 200, and replaces the token of a connected athlete', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    const before = await tokenOf(athlete);
    const { sent, at } = await recorded();
    expect((await connected(athlete, vendorId, at)).end.kind).toBe('connected');
    expect(sent.map(pathOf).slice(1)).toEqual(['POST /polar/v3/users', `GET /polar/v3/users/${vendorId}`]);
    expect(await tokenOf(athlete)).not.toBe(before);
  });

  it.each([
    ['a 409 whose GET answers 204, for a member id that another athlete has', 409],
    ['a 204, for an athlete that the vendor does not know', 204],
    ['a 500', 500],
  ])(
    'stores nothing, ends as vendor_away and queues a revocation of the grant after %s',
    async (_, status) => {
      const { at } = await recorded(({ method, url }) =>
        method === 'POST' && url.endsWith('/users') ? status : undefined,
      );
      const { athlete, vendorId } = await newPair();
      expect((await connected(athlete, vendorId, at)).end.kind).toBe('vendor_away');
      expect(await statusOf(athlete)).toBeUndefined();
      expect([await worker.revokeDue(), await queued()]).toEqual([1, 0]);
    },
  );

  it('a grant whose registration at Polar gets no answer is revoked, and the registration ends', async () => {
    const { athlete, vendorId } = await newPair();
    await harness.simulator.fault(POLAR, 'users', 'lost_answer', { count: 1 });
    expect((await connected(athlete, vendorId)).end.kind).toBe('vendor_away');
    expect(await harness.simulator.isConnected(vendorId)).toBe(true);
    expect([await worker.revokeDue(), await queued()]).toEqual([1, 0]);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
  });

  it('a new consent of a connected athlete whose registration at Polar gets no answer leaves the connection', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    await harness.simulator.fault(POLAR, 'users', 'lost_answer', { count: 1 });
    expect((await connected(athlete, vendorId)).end.kind).toBe('vendor_away');
    expect([await statusOf(athlete), await queued()]).toEqual(['active', 0]);
  });

  it('a consent to Polar stores nothing for an athlete without the mandatory consents, and connects after they are given', async () => {
    const { athlete, vendorId } = await newPair();
    const consents = (given: 'given' | 'missing') =>
      fetch(`${harness.simulator.url}/polar/__sim/users/${vendorId}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ consents: given }),
      });
    await consents('missing');
    expect((await connected(athlete, vendorId)).end).toEqual({ kind: 'consents_missing' });
    expect(await statusOf(athlete)).toBeUndefined();
    expect(await queued()).toBe(0);
    await consents('given');
    expect((await connected(athlete, vendorId)).end.kind).toBe('connected');
  });

  it('a registration at Polar is sent once if its answer is lost, and the athlete’s next consent finds it', async () => {
    const { athlete, vendorId } = await newPair();
    await harness.simulator.fault(POLAR, 'users', 'lost_answer', { count: 1 });
    const before = await userCalls();
    expect((await connected(athlete, vendorId)).end.kind).toBe('vendor_away');
    expect((await userCalls()) - before).toBe(1);
    expect(await statusOf(athlete)).toBeUndefined();
    expect((await connected(athlete, vendorId)).end.kind).toBe('connected');
    expect(await queued()).toBe(0);
  });

  it('a consent to Polar with a wrong client secret ends as app_refused, without a registration', async () => {
    const wrong = await harness.worker({ env: { POLAR_CLIENT_SECRET: 'wrong' } });
    const { athlete, vendorId } = await newPair();
    const before = await userCalls();
    expect((await connected(athlete, vendorId, wrong)).end.kind).toBe('app_refused');
    expect(await userCalls()).toBe(before);
  });
});

describe('a connection without a refresh token', () => {
  const tokenCalls = () => harness.simulator.calls(POLAR, 'token');
  const expire = (athlete: string) =>
    worker.database.query('update connection set expires_at = now() where athlete_id = $1', [athlete]);

  it('needs a new consent once its token has expired, counts no refresh, and is active after the consent', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    const calls = await tokenCalls();
    expect(await tokenOf(athlete)).toBe(await tokenOf(athlete));
    await expire(athlete);
    refreshes.reset();
    await expect(tokenOf(athlete)).rejects.toThrow('Polar has ended the connection');
    expect(await statusOf(athlete)).toBe('needs_reauth');
    expect(await tokenCalls()).toBe(calls);
    expect((await refreshes.get()).values).toEqual([]);
    expect((await connected(athlete, vendorId)).end.kind).toBe('connected');
    expect(await statusOf(athlete)).toBe('active');
  });

  it('needs a new consent after a 401, without a call to the token endpoint', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    const token = await tokenOf(athlete);
    const calls = await tokenCalls();
    await harness.simulator.deauthorize(POLAR, vendorId);
    const workers = await Promise.all([1, 2, 3].map(() => harness.worker()));
    const verdicts = workers.map(({ tokens }) => tokens.rejected(athlete, POLAR, token));
    const kinds = (await Promise.all(verdicts)).map(({ kind }) => kind);
    expect(kinds).toEqual(['revoked', 'revoked', 'revoked']);
    expect(await statusOf(athlete)).toBe('needs_reauth');
    expect(await tokenCalls()).toBe(calls);
  });

  it('a disconnection from Polar ends the registration with the athlete’s own token', async () => {
    const { athlete, vendorId } = await newPair();
    const { sent, at } = await recorded();
    await connected(athlete, vendorId, at);
    sent.length = 0;
    expect(await at.connections.disconnect(athlete, POLAR)).toBe(true);
    expect(sent.map(pathOf)).toEqual([`DELETE /polar/v3/users/${vendorId}`]);
    expect(sent[0]?.headers?.authorization).toMatch(/^Bearer /);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
    expect(await queued()).toBe(0);
  });

  it.each([401, 404])(
    'queues no further revocation if the vendor answers the disconnection with %i',
    async (status) => {
      const { athlete, vendorId } = await newPair();
      const { at } = await recorded(({ method }) => (method === 'DELETE' ? status : undefined));
      await connected(athlete, vendorId, at);
      await at.connections.disconnect(athlete, POLAR);
      expect(await queued()).toBe(0);
    },
  );

  it('repeats the end of the registration after an outage, with the athlete’s id in the path', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    await harness.simulator.fault(POLAR, 'users', 'http_500', { count: 1 });
    await worker.connections.disconnect(athlete, POLAR);
    expect(await queued()).toBe(1);
    await worker.database.query('update revocation set next_attempt_at = now()');
    expect(await worker.revokeDue()).toBe(1);
    expect([await queued(), await harness.simulator.isConnected(vendorId)]).toEqual([0, false]);
  });

  it('keeps its access token through a key rotation', async () => {
    const { athlete, vendorId } = await newPair();
    await connected(athlete, vendorId);
    const token = await tokenOf(athlete);
    const ENCRYPTION_KEYS = keys(2, 1);
    const { encryptionKeys } = loadProductConfig({ ...harness.env, ENCRYPTION_KEYS });
    const { unreadable } = await rotateKeys(worker.database, new Vault(encryptionKeys));
    expect(unreadable).toBe(0);
    const onlyNew = await harness.worker({ env: { ENCRYPTION_KEYS: keys(2) } });
    expect(await tokenIn(onlyNew.tokens.access(athlete, POLAR))).toBe(token);
  });
});
