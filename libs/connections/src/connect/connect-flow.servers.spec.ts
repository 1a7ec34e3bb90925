import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createLogger, fenceRejected } from '#platform';
import { type GrantedPermit, type Permit } from '#rate-limit';
import { type CallBudget, VENDORS } from '#vendors';
import {
  ConnectionsHarness,
  connect,
  consent,
  newAthlete,
  plainHttp,
  tokenIn,
  type ConnectionsWorker,
} from '../connections.harness.js';
import { type CallbackOutcome } from './connect-outcome.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { testWorkers } from '../../../../test/harness/test-workers.js';
import { type Http, type HttpRequest } from '../oauth/http.js';
import { PROVIDERS, type Provider } from '../oauth/provider.js';
import { type RevocationClaim, revocationAttempts } from '../revocation/revocations.js';

const RETURN = 'https://app.example/settings/strava?tab=2';

let harness: ConnectionsHarness;
let worker: ConnectionsWorker;
const notified: string[] = [];
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  const note = (event: string) => (athleteId: string, provider: Provider) => {
    notified.push(`${event} ${athleteId} ${provider}`);
    return Promise.reject(new Error('a failing listener must not fail the request'));
  };
  worker = await harness.worker({
    listeners: [{ connected: note('connected'), disconnected: note('disconnected') }],
  });
});
afterEach(() => harness.simulator.clearFaults());
afterAll(() => harness.close());

const rows = async (athleteId: string) =>
  (await worker.database.query('select * from connection where athlete_id = $1', [athleteId])).rows;
const started = async (athleteId: string, provider: Provider = 'strava', returnUrl?: string) =>
  new URL((await worker.connectFlow.start(athleteId, provider, { returnUrl })).authorizeUrl);
const confirm = ({ provider, end }: CallbackOutcome, athleteId: string, at = worker) => {
  if (end.kind !== 'confirm') throw new Error(`nothing to confirm: ${end.kind}`);
  return at.consentConfirmation.confirm(provider, end.confirm, { athleteId });
};
const revokeDue = () => worker.revokeDue();
/** Makes the revocations that are due. True if they have ended the grant, which no call of the confirmation has ended before. */
const isRevokedLater = async (vendorId: string) => {
  const before = await harness.simulator.isConnected(vendorId);
  await revokeDue();
  return before && !(await harness.simulator.isConnected(vendorId));
};
const vendorSide = (provider: Provider, more = {}) => harness.simulator.newAthlete(provider, more);

describe.each(PROVIDERS)('connecting %s', (provider) => {
  it(`stores a confirmed consent to ${provider}, calls the listeners, and returns an access token`, async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    const outcome = await consent(harness, worker, athlete, provider, { athlete_id: vendorId }, RETURN);
    expect(outcome).toMatchObject({ provider, end: { kind: 'confirm' }, returnUrl: RETURN });
    expect(await rows(athlete)).toEqual([]);
    const { end } = await confirm(outcome, athlete);
    expect(end).toEqual({ kind: 'connected', athleteId: athlete });
    expect(await worker.connections.list(athlete)).toEqual([
      {
        provider,
        status: 'active',
        vendor_athlete_id: vendorId,
        scopes: VENDORS[provider].oauth.scopes,
        connected_at: expect.stringMatching(/^20\d\d-.*Z$/),
      },
    ]);
    expect(notified).toContain(`connected ${athlete} ${provider}`);
    const token = await tokenIn(worker.tokens.access(athlete, provider));
    expect(await worker.connections.athleteOf(provider, vendorId)).toEqual({
      athleteId: athlete,
      generation: expect.any(Number),
      connectedAt: expect.stringMatching(/^20\d\d-/),
    });
    expect(JSON.stringify(await rows(athlete))).not.toContain(token);
  });

  it(`deletes a connection to ${provider} at a disconnection, raises the generation and revokes the grant`, async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    await connect(harness, worker, athlete, provider, { athlete_id: vendorId });
    expect(await harness.simulator.isConnected(vendorId)).toBe(true);
    const before = await worker.connections.athleteOf(provider, vendorId);
    expect(await worker.connections.disconnect(athlete, provider)).toBe(true);
    expect(await rows(athlete)).toEqual([]);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
    expect(notified).toContain(`disconnected ${athlete} ${provider}`);
    const { rows: athletes } = await worker.database.query<{ generation: string }>(
      'select generation from athlete where id = $1',
      [athlete],
    );
    expect(Number(athletes[0]?.generation)).toBeGreaterThan(before?.generation ?? Infinity);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
    expect(await worker.connections.disconnect(athlete, provider)).toBe(false);
  });
});

const reportsScopes = (provider: Provider) => VENDORS[provider].oauth.grantedScopesIn !== 'nowhere';

describe.each(PROVIDERS.filter(reportsScopes))('a missing scope of %s', (provider) => {
  it(`stores nothing if a required scope of ${provider} is missing, names the scope, and leaves the revocation to a worker`, async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    const [first] = VENDORS[provider].oauth.requiredScopes;
    const others = VENDORS[provider].oauth.scopes.filter((scope) => !first?.includes(scope));
    const choice = { athlete_id: vendorId, scope_granted: others.join(',') };
    const outcome = await connect(harness, worker, athlete, provider, choice);
    expect(outcome.end).toEqual({ kind: 'missing_scope', missing: [first] });
    expect(await rows(athlete)).toEqual([]);
    const isConfirmed = VENDORS[provider].oauth.grantedScopesIn !== 'redirect';
    if (isConfirmed) expect(await isRevokedLater(vendorId)).toBe(true);
  });
});

describe('ConnectFlow', () => {
  it('returns Strava’s authorize URL with all scopes and a random state, and stores only the hash of the state', async () => {
    const athlete = await newAthlete(worker);
    const url = await started(athlete);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: '4711',
      redirect_uri: 'https://pacekeeper.example/oauth/strava/callback',
      response_type: 'code',
      scope: 'read,activity:read,activity:read_all',
      state: expect.stringMatching(/^[\w-]{43}$/),
      approval_prompt: 'auto',
    });
    const { rows: flows } = await worker.database.query<{ state_hash: Buffer }>(
      'select * from oauth_flow where athlete_id = $1',
      [athlete],
    );
    const state = url.searchParams.get('state') ?? '';
    expect(flows[0]?.state_hash).toEqual(createHash('sha256').update(state).digest());
    expect(JSON.stringify(flows)).not.toContain(state);
  });

  it('connects Strava without the permission to read private activities', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava'), scope_granted: 'read,activity:read' };
    const outcome = await connect(harness, worker, athlete, 'strava', choice);
    expect(outcome.end.kind).toBe('connected');
    expect(await worker.connections.list(athlete)).toMatchObject([{ scopes: ['read', 'activity:read'] }]);
  });

  it('names the missing scope of WHOOP even if the account’s id cannot be read without that scope', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('whoop'), scope_granted: 'offline,read:sleep' };
    const { end } = await connect(harness, worker, athlete, 'whoop', choice);
    expect(end).toEqual({ kind: 'missing_scope', missing: [['read:profile']] });
    expect(await rows(athlete)).toEqual([]);
  });

  it('ends a callback as denied if the athlete declines at the vendor, and keeps the return_url', async () => {
    const athlete = await newAthlete(worker);
    const outcome = await consent(harness, worker, athlete, 'strava', { decision: 'deny' }, RETURN);
    expect(outcome).toMatchObject({ end: { kind: 'denied' }, returnUrl: RETURN });
  });

  it('stores every digit of a vendor’s athlete id beyond 2^53', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide('strava', { athlete_id: '9007199254740995' });
    await connect(harness, worker, athlete, 'strava', { athlete_id: vendorId });
    expect(await worker.connections.list(athlete)).toMatchObject([{ vendor_athlete_id: vendorId }]);
  });

  it('accepts a callback once, also for four requests at the same moment', async () => {
    const athlete = await newAthlete(worker);
    const back = await harness.simulator.consent(String(await started(athlete)), {
      athlete_id: await vendorSide('strava'),
    });
    const query = Object.fromEntries(back.searchParams);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => worker.connectFlow.finish('strava', query)));
    expect(outcomes.map(({ end }) => end.kind).sort()).toEqual(['confirm', 'stale', 'stale', 'stale']);
  });

  it('answers stale to a callback ten minutes after the start, by the database’s clock, and purges the flow later', async () => {
    const athlete = await newAthlete(worker);
    const age = (interval: string) =>
      worker.database.query(
        `update oauth_flow set expires_at = expires_at - interval '${interval}' where athlete_id = $1`,
        [athlete],
      );
    const state = (await started(athlete, 'strava', RETURN)).searchParams.get('state');
    await age('10 minutes');
    const outcome = await worker.connectFlow.finish('strava', { state, code: 'x' });
    expect(outcome).toMatchObject({ end: { kind: 'stale' }, returnUrl: RETURN });

    await started(athlete);
    await age('2 hours');
    await worker.flows.purge();
    const { count } = await worker.database.query('select from oauth_flow where athlete_id = $1', [athlete]);
    expect(count).toBe(0);
  });

  const strange: ReadonlyArray<readonly [string, (state: string) => Record<string, unknown>, string]> = [
    ['no state', () => ({ code: 'x' }), 'stale'],
    ['a forged state', () => ({ state: 'x'.repeat(43), code: 'x' }), 'stale'],
    ['a state given twice', (state) => ({ state: [state, state], code: 'x' }), 'stale'],
    ['an empty state', () => ({ state: '', code: 'x' }), 'stale'],
    ['a state with a NUL', () => ({ state: '\0', code: 'x' }), 'stale'],
    ['no code', (state) => ({ state }), 'refused'],
    ['an empty code', (state) => ({ state, code: '' }), 'refused'],
    ['a code given twice', (state) => ({ state, code: ['a', 'b'] }), 'refused'],
    ['an endless code', (state) => ({ state, code: 'x'.repeat(3_000) }), 'refused'],
    [
      'a code without the scopes that are needed',
      (state) => ({ state, code: 'nonsense\0', scope: 'read' }),
      'missing_scope',
    ],
    ['another error', (state) => ({ state, error: 'server_error', code: 'x' }), 'refused'],
    ['an error given twice', (state) => ({ state, error: ['access_denied'] }), 'refused'],
  ];
  it.each(strange)('handles a callback with %s and stores no connection', async (_, query, kind) => {
    const athlete = await newAthlete(worker);
    const state = (await started(athlete)).searchParams.get('state') ?? '';
    expect((await worker.connectFlow.finish('strava', query(state))).end.kind).toBe(kind);
    expect(await rows(athlete)).toEqual([]);
  });

  it('answers stale to a state at the callback of another provider, and keeps the state usable', async () => {
    const athlete = await newAthlete(worker);
    const back = await harness.simulator.consent(String(await started(athlete)), {
      athlete_id: await vendorSide('strava'),
    });
    const query = Object.fromEntries(back.searchParams);
    expect((await worker.connectFlow.finish('oura', query)).end).toEqual({ kind: 'stale' });
    expect((await worker.connectFlow.finish('strava', query)).end.kind).toBe('confirm');
  });

  it.each([
    ['http_500', 'vendor_away'],
    ['reset', 'vendor_away'],
    ['timeout', 'vendor_away'],
    ['lost_answer', 'vendor_away'],
    ['malformed', 'vendor_away'],
    ['empty_json', 'vendor_away'],
    ['html', 'vendor_away'],
    ['http_429', 'vendor_away'],
    ['app_inactive', 'app_refused'],
  ])('a confirmation whose token call gets %s ends as %s after one call', async (kind, expected) => {
    const athlete = await newAthlete(worker);
    await harness.simulator.fault('strava', 'token', kind, { count: 1 });
    const before = await harness.simulator.calls('strava', 'token');
    const choice = { athlete_id: await vendorSide('strava') };
    const startedAt = performance.now();
    expect((await connect(harness, worker, athlete, 'strava', choice)).end.kind).toBe(expected);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect((await harness.simulator.calls('strava', 'token')) - before).toBe(1);
    expect(await rows(athlete)).toEqual([]);
  });

  it('a confirmation gives the vendor a time that leaves a second of the route’s deadline of 4.25 s', async () => {
    const athlete = await newAthlete(worker);
    const outcome = await consent(harness, worker, athlete, 'strava', {
      athlete_id: await vendorSide('strava'),
    });
    const timeouts = jest.spyOn(AbortSignal, 'timeout');
    try {
      expect((await confirm(outcome, athlete)).end.kind).toBe('connected');
      expect(timeouts.mock.calls.length).toBeGreaterThan(0);
      expect(Math.max(...timeouts.mock.calls.map(([ms]) => ms))).toBeLessThanOrEqual(3_250);
    } finally {
      timeouts.mockRestore();
    }
  });

  it('logs why the profile request failed, without the access token', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const secrets: string[] = [];
    const http = {
      call: async (request: Parameters<typeof plainHttp.call>[0]) => {
        const [, token] = /Bearer (.+)/i.exec(request.headers?.authorization ?? '') ?? [];
        if (!token) return plainHttp.call(request);
        secrets.push(token);
        throw new Error('the connection failed');
      },
    };
    const logger = createLogger({ level: 'warn', process: 'test', destination });
    const failing = await harness.worker({ http, logger });
    const athlete = await newAthlete(worker);
    const { end } = await connect(harness, failing, athlete, 'oura', {
      athlete_id: await vendorSide('oura'),
    });
    expect(end.kind).toBe('vendor_away');
    expect(JSON.parse(lines.join())).toMatchObject({
      provider: 'oura',
      err: { message: 'the connection failed' },
    });
    expect(secrets).toHaveLength(1);
    expect(lines.join()).not.toContain(secrets[0]);
  });

  it('ends a confirmation with a wrong client secret as app_refused', async () => {
    const misconfigured = await harness.worker({ env: { STRAVA_CLIENT_SECRET: 'wrong' } });
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    const { end } = await connect(harness, misconfigured, athlete, 'strava', choice);
    expect(end.kind).toBe('app_refused');
  });

  it('a consent cannot start for an unknown or unconfigured vendor, or with an unlisted return_url', async () => {
    const bare = await harness.worker({ env: { OURA_CLIENT_ID: '', OURA_CLIENT_SECRET: '' } });
    const athlete = await newAthlete(worker);
    await expect(bare.connectFlow.start(athlete, 'oura')).rejects.toThrow('Oura is not offered here');
    await expect(bare.connectFlow.start(athlete, 'garmin')).rejects.toThrow('no such provider');
    await expect(
      worker.connectFlow.start(athlete, 'strava', { returnUrl: 'https://evil.example' }),
    ).rejects.toMatchObject({
      details: ['return_url: is not on the list of RETURN_URLS'],
    });
  });
});

describe('ConsentConfirmation', () => {
  const consentOf = async (athlete: string, provider: Provider = 'strava') => {
    const vendorId = await vendorSide(provider);
    return { vendorId, outcome: await consent(harness, worker, athlete, provider, { athlete_id: vendorId }) };
  };
  const flowOf = async (athlete: string) =>
    (
      await worker.database.query<Record<string, unknown>>('select * from oauth_flow where athlete_id = $1', [
        athlete,
      ])
    ).rows[0];

  it('requests no token from the vendor before the confirmation, and stores the code only encrypted', async () => {
    const athlete = await newAthlete(worker);
    const before = await harness.simulator.calls('strava', 'token');
    const { authorizeUrl } = await worker.connectFlow.start(athlete, 'strava');
    const back = await harness.simulator.consent(authorizeUrl, { athlete_id: await vendorSide('strava') });
    const outcome = await worker.connectFlow.finish('strava', Object.fromEntries(back.searchParams));
    expect(await harness.simulator.calls('strava', 'token')).toBe(before);
    const stored = JSON.stringify(await flowOf(athlete));
    const { end } = outcome;
    expect(end.kind).toBe('confirm');
    for (const secret of [
      back.searchParams.get('code'),
      back.searchParams.get('state'),
      end.kind === 'confirm' && end.confirm,
    ])
      expect(stored).not.toContain(secret);
    expect((await confirm(outcome, athlete)).end.kind).toBe('connected');
    expect(await harness.simulator.calls('strava', 'token')).toBe(before + 1);
  });

  it('refuses a confirmation by another athlete as unknown, and does not use up the consent', async () => {
    const [attacker, victim] = [await newAthlete(worker), await newAthlete(worker)];
    const { outcome } = await consentOf(attacker);
    expect((await confirm(outcome, victim)).end).toEqual({ kind: 'unknown' });
    expect(await rows(attacker)).toEqual([]);
    expect((await confirm(outcome, attacker)).end.kind).toBe('connected');
  });

  it('confirms a consent once, also for many requests at the same moment', async () => {
    const athlete = await newAthlete(worker);
    const { outcome } = await consentOf(athlete);
    const before = await harness.simulator.calls('strava', 'token');
    const ends = await Promise.all([1, 2, 3, 4].map(() => confirm(outcome, athlete)));
    expect(ends.map(({ end }) => end.kind).sort()).toEqual(['connected', 'lapsed', 'lapsed', 'lapsed']);
    expect(await harness.simulator.calls('strava', 'token')).toBe(before + 1);
    expect((await confirm(outcome, athlete)).end.kind).toBe('lapsed');
  });

  it('refuses a confirmation more than ten minutes after the callback, by the clock of the database', async () => {
    const athlete = await newAthlete(worker);
    const { outcome } = await consentOf(athlete);
    await worker.database.query(
      `update oauth_flow set confirm_until = confirm_until - interval '10 minutes' where athlete_id = $1`,
      [athlete],
    );
    expect((await confirm(outcome, athlete)).end.kind).toBe('lapsed');
    expect(await flowOf(athlete)).toMatchObject({ code: null, verifier: null, account: null });
  });

  it('refuses a confirmation if the vendor rejects the code, and stores nothing', async () => {
    const athlete = await newAthlete(worker);
    const state = (await started(athlete)).searchParams.get('state');
    const outcome = await worker.connectFlow.finish('strava', {
      state,
      code: 'nonsense\0',
      scope: 'read,activity:read',
    });
    expect((await confirm(outcome, athlete)).end.kind).toBe('refused');
    expect(await rows(athlete)).toEqual([]);
  });

  it('refuses a consent that began before a disconnection, whether its callback came before or after the disconnection', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, athlete, 'strava', choice);
    const outcome = await consent(harness, worker, athlete, 'strava', choice);
    const begun = String(await started(athlete));
    await worker.connections.disconnect(athlete, 'strava');
    expect((await confirm(outcome, athlete)).end.kind).toBe('lapsed');
    const back = await harness.simulator.consent(begun, choice);
    const late = await worker.connectFlow.finish('strava', Object.fromEntries(back.searchParams));
    expect(late.end.kind).toBe('stale');
    expect(await rows(athlete)).toEqual([]);
    expect((await connect(harness, worker, athlete, 'strava', choice)).end.kind).toBe('connected');
  });

  it('refuses a confirmation by a deleted athlete, and revokes the grant if the deletion comes during the exchange', async () => {
    const gone = await newAthlete(worker);
    const { outcome } = await consentOf(gone);
    await worker.database.query('delete from athlete where id = $1', [gone]);
    expect((await confirm(outcome, gone)).end.kind).toBe('unknown');

    const going = await newAthlete(worker);
    const { outcome: other, vendorId } = await consentOf(going);
    const deleting = await harness.worker({
      http: {
        call: async (request: Parameters<typeof plainHttp.call>[0]) => {
          const answer = await plainHttp.call(request);
          if (request.url.endsWith('/token'))
            await worker.database.query('delete from athlete where id = $1', [going]);
          return answer;
        },
      },
    });
    expect((await confirm(other, going, deleting)).end.kind).toBe('refused');
    expect(await isRevokedLater(vendorId)).toBe(true);
  });

  it('a confirmation that a killed process had begun is not repeated, and a new consent connects', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    const outcome = await consent(harness, worker, athlete, 'strava', choice);
    // The process dies after the vendor's answer and before it stores the tokens.
    const killed = await harness.worker({
      http: {
        call: async (request: Parameters<typeof plainHttp.call>[0]) => {
          await plainHttp.call(request);
          return new Promise<never>(() => undefined);
        },
      },
    });
    const before = await harness.simulator.calls('strava', 'token');
    void confirm(outcome, athlete, killed);
    await eventually(
      'the vendor has answered',
      async () => (await harness.simulator.calls('strava', 'token')) > before,
    );
    expect((await confirm(outcome, athlete)).end.kind).toBe('lapsed');
    expect(await rows(athlete)).toEqual([]);
    expect((await connect(harness, worker, athlete, 'strava', choice)).end.kind).toBe('connected');
    await worker.connections.disconnect(athlete, 'strava');
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(false);
  });

  it('requires the cookie’s secret for a confirmation by a browser', async () => {
    const athlete = await newAthlete(worker);
    const back = await harness.simulator.consent(String(await started(athlete)), {
      athlete_id: await vendorSide('strava'),
    });
    const outcome = await worker.connectFlow.finish(
      'strava',
      Object.fromEntries(back.searchParams),
      'the cookie',
    );
    const { end } = outcome;
    if (end.kind !== 'confirm') throw new Error(end.kind);
    const confirmBy = (browser: string) =>
      worker.consentConfirmation.confirm('strava', end.confirm, { browser });
    expect((await confirmBy('another cookie')).end.kind).toBe('unknown');
    expect((await confirmBy('the cookie')).end).toEqual({ kind: 'connected', athleteId: athlete });
  });

  it('refuses a confirmation by a browser for a consent that an app has to confirm', async () => {
    const athlete = await newAthlete(worker);
    const { outcome } = await consentOf(athlete);
    const { end } = outcome;
    if (end.kind !== 'confirm') throw new Error(end.kind);
    for (const browser of ['', 'null', 'undefined'])
      expect((await worker.consentConfirmation.confirm('strava', end.confirm, { browser })).end.kind).toBe(
        'unknown',
      );
  });
});

describe('a confirmation whose calls are charged to a budget', () => {
  /** A budget with `left` permits. `held` counts those that are neither settled nor given back. */
  function newBudget(left: number) {
    const state = { left, held: 0, asked: 0 };
    const granted: GrantedPermit = {
      kind: 'granted',
      permit: {} as Permit,
      isFresh: () => true,
      settle: () => {
        state.held -= 1;
        return Promise.resolve();
      },
      giveBack: () => {
        state.left += 1;
        state.held -= 1;
        return Promise.resolve();
      },
    };
    const budget: CallBudget = {
      waitForPermit: () => {
        state.asked += 1;
        if (state.left === 0)
          return Promise.resolve({ kind: 'notNow', window: 'boundary', retryAfterMs: 2_400 });
        state.left -= 1;
        state.held += 1;
        return Promise.resolve(granted);
      },
    };
    return { state, budgets: { of: () => budget } };
  }

  /** Sends a metered call only with a permit, as the product's client does. `onSent` runs before each call. */
  const metered = (onSent: (request: HttpRequest) => void = () => undefined): Http => ({
    async call(request, meter) {
      onSent(request);
      if (!meter) return plainHttp.call(request);
      const permit = await meter.permit(request.signal);
      if (permit.kind !== 'granted') return permit;
      const outcome = await plainHttp.call(request);
      if (outcome.kind === 'answered') await permit.settle(outcome.answer);
      return outcome;
    },
  });

  const consented = async (provider: Provider, athlete: string, vendorId: string) =>
    consent(harness, worker, athlete, provider, { athlete_id: vendorId });

  it.each([
    ['whoop', 0, 1],
    ['polar', 0, 2],
    ['polar', 1, 2],
  ] as const)(
    'a confirmation for %s is refused with a time to retry while the budget has %i permits of %i, uses nothing up, and connects when it is repeated',
    async (provider, left, needed) => {
      const { state, budgets } = newBudget(left);
      const calls: string[] = [];
      const limited = await harness.worker({ budgets, http: metered(({ url }) => calls.push(url)) });
      const athlete = await newAthlete(worker);
      const outcome = await consented(provider, athlete, await vendorSide(provider));
      const early = await confirm(outcome, athlete, limited).catch((error: unknown) => error);
      expect(early).toMatchObject({ code: 'VENDOR_UNREACHABLE', retryAfterSeconds: 3 });
      expect([calls, state]).toMatchObject([[], { left, held: 0 }]);
      state.left = needed;
      expect((await confirm(outcome, athlete, limited)).end.kind).toBe('connected');
      // One call is charged. The permit for the confirmation of a registration was not needed.
      expect(state).toMatchObject({ left: needed - 1, held: 0 });
    },
  );

  it('a confirmation for polar connects a registered athlete although the budget is spent after the exchange', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide('polar');
    await connect(harness, worker, athlete, 'polar', { athlete_id: vendorId });
    const { state, budgets } = newBudget(5);
    const http = metered(({ url }) => {
      if (url.endsWith('/token')) state.left = 0;
    });
    const limited = await harness.worker({ budgets, http });
    const outcome = await consented('polar', athlete, vendorId);
    expect((await confirm(outcome, athlete, limited)).end.kind).toBe('connected');
    expect(state).toMatchObject({ left: 0, held: 0 });
  });

  it.each(['unknown', 'lapsed'] as const)(
    'an %s confirmation is refused with that outcome, without a request for a permit, while the budget allows no call',
    async (kind) => {
      const { state, budgets } = newBudget(0);
      const limited = await harness.worker({ budgets });
      const [athlete, other] = [await newAthlete(worker), await newAthlete(worker)];
      const outcome = await consented('polar', athlete, await vendorSide('polar'));
      if (kind === 'lapsed') await confirm(outcome, athlete);
      const { end } = await confirm(outcome, kind === 'unknown' ? other : athlete, limited);
      expect([end, state.asked]).toEqual([{ kind }, 0]);
    },
  );
});

describe('the owner of a vendor’s account', () => {
  it('a confirmation has the outcome `taken` if another athlete has connected the account, and the grant stays valid', async () => {
    const [owner, other] = [await newAthlete(worker), await newAthlete(worker)];
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, owner, 'strava', choice);
    expect((await connect(harness, worker, other, 'strava', choice)).end).toEqual({ kind: 'taken' });
    expect(await rows(other)).toEqual([]);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);

    // A consent with a missing scope, by another athlete, does not revoke the grant either.
    const half = { ...choice, scope_granted: 'read' };
    expect((await connect(harness, worker, other, 'strava', half)).end.kind).toBe('missing_scope');
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  it('connects an account to one of four athletes who confirm it at the same moment', async () => {
    const athletes = await Promise.all([1, 2, 3, 4].map(() => newAthlete(worker)));
    const choice = { athlete_id: await vendorSide('oura') };
    const outcomes = await Promise.all(
      athletes.map((athlete) => connect(harness, worker, athlete, 'oura', choice)),
    );
    expect(outcomes.map(({ end }) => end.kind).sort()).toEqual(['connected', 'taken', 'taken', 'taken']);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  it('keeps the first account of an athlete who connects a second account, and revokes the second grant', async () => {
    const athlete = await newAthlete(worker);
    const [first, second] = [await vendorSide('strava'), await vendorSide('strava')];
    await connect(harness, worker, athlete, 'strava', { athlete_id: first });
    const { end } = await connect(harness, worker, athlete, 'strava', { athlete_id: second });
    expect(end).toEqual({ kind: 'other_account' });
    expect(await worker.connections.list(athlete)).toMatchObject([{ vendor_athlete_id: first }]);
    expect(await isRevokedLater(second)).toBe(true);
  });

  it('stores new tokens and the status active when the owner connects an account again', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, athlete, 'strava', choice);
    const token = await tokenIn(worker.tokens.access(athlete, 'strava'));
    await worker.database.query("update connection set status = 'needs_reauth' where athlete_id = $1", [
      athlete,
    ]);
    expect(await worker.tokens.access(athlete, 'strava')).toMatchObject({ kind: 'revoked' });
    const both = await Promise.all([1, 2].map(() => connect(harness, worker, athlete, 'strava', choice)));
    expect(both.map(({ end }) => end.kind)).toEqual(['connected', 'connected']);
    expect(await tokenIn(worker.tokens.access(athlete, 'strava'))).not.toBe(token);
    expect(await rows(athlete)).toHaveLength(1);
  });
});

describe('Revocations', () => {
  // These tests count revocations. On a busy machine an earlier test may leave one, because a disconnection gives the vendor 2 s.
  beforeEach(() => worker.database.query('delete from revocation'));

  const ended = async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, athlete, 'strava', choice);
    await harness.simulator.fault('strava', 'revoke', 'http_500');
    expect(await worker.connections.disconnect(athlete, 'strava')).toBe(true);
    expect(await rows(athlete)).toEqual([]);
    await harness.simulator.clearFaults();
    return { athlete, choice };
  };
  const isDue = () => worker.database.query('update revocation set next_attempt_at = now()');

  it('one of two workers revokes a grant at the next attempt if the vendor failed at the disconnection', async () => {
    const { choice } = await ended();
    expect(await revokeDue()).toBe(0);
    await isDue();
    const [tried, alsoTried] = await Promise.all([revokeDue(), revokeDue()]);
    expect(tried + alsoTried).toBe(1);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(false);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
  });

  it('a grant is not revoked after the athlete has connected the account again', async () => {
    const { athlete, choice } = await ended();
    await connect(harness, worker, athlete, 'strava', choice);
    await isDue();
    expect(await revokeDue()).toBe(0);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  const writes: ReadonlyArray<readonly [string, (claim: RevocationClaim) => Promise<boolean>]> = [
    ['postponement', (claim) => worker.revocations.work.settle(claim, { kind: 'failed' })],
    ['deletion', (claim) => worker.revocations.work.settle(claim, { kind: 'done' })],
  ];

  it.each(writes)(
    'the %s of a revocation that another worker has claimed since changes nothing, and is counted',
    async (_, write) => {
      await ended();
      await isDue();
      const frozen = (await worker.revocations.work.claim!(60_000))!;
      await worker.database.query('update revocation set leased_until = now(), next_attempt_at = now()');
      await worker.revocations.work.claim!(60_000);
      const whole = async () => (await worker.database.query('select * from revocation')).rows;
      const claimed = await whole();
      fenceRejected.reset();
      expect(await write(frozen)).toBe(false);
      expect(await whole()).toEqual(claimed);
      expect((await fenceRejected.get()).values).toMatchObject([
        { labels: { kind: 'revocation' }, value: 1 },
      ]);
      await worker.database.query('delete from revocation');
    },
  );

  it.each([
    ['that the vendor does not confirm', undefined],
    ['whose token cannot be decrypted', "update revocation set token = 'damaged'"],
  ])('deletes a revocation %s after thirty failed attempts, and counts each attempt', async (_, damage) => {
    await ended();
    await harness.simulator.fault('strava', 'revoke', 'http_500');
    if (damage) await worker.database.query(damage);
    const attempts = async () => {
      const { values } = await revocationAttempts.get();
      return values.map(({ labels, value }) => [labels.result, value]);
    };
    revocationAttempts.reset();
    for (const made of [28, 29]) {
      await worker.database.query('update revocation set attempts = $1, next_attempt_at = now()', [made]);
      expect(await revokeDue()).toBe(1);
    }
    expect(await attempts()).toEqual([
      ['failed', 1],
      ['given_up', 1],
    ]);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
  });

  it('finishes the attempts of a disconnection before the process stops', async () => {
    const athlete = await newAthlete(worker);
    await connect(harness, worker, athlete, 'strava', { athlete_id: await vendorSide('strava') });
    const workers = testWorkers();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let isCalled = false;
    const http: Http = {
      async call(request) {
        isCalled = true;
        await answered;
        return plainHttp.call(request);
      },
    };
    const stopping = await harness.worker({ http, workers });
    const ending = stopping.connections.disconnect(athlete, 'strava');
    await eventually('the revocation is under way', () => isCalled);
    let isStopped = false;
    const stopped = workers.beforeApplicationShutdown().then(() => (isStopped = true));
    await worker.database.query('select 1');
    expect(isStopped).toBe(false);
    answer();
    await Promise.all([ending, stopped]);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
  });
});

describe('PKCE in a consent', () => {
  it('sends the PKCE challenge at the start, and the matching verifier with the code', async () => {
    const bodies: URLSearchParams[] = [];
    const spying = {
      call: (request: Parameters<typeof plainHttp.call>[0]) => {
        bodies.push(new URLSearchParams(request.body));
        return plainHttp.call(request);
      },
    };
    const facts = VENDORS.strava.oauth as { pkce: boolean };
    facts.pkce = true;
    try {
      const spied = await harness.worker({ http: spying });
      const athlete = await newAthlete(worker);
      const { authorizeUrl } = await spied.connectFlow.start(athlete, 'strava');
      const sent = new URL(authorizeUrl).searchParams;
      const stored = JSON.stringify((await worker.database.query('select verifier from oauth_flow')).rows);
      const back = await harness.simulator.consent(authorizeUrl, { athlete_id: await vendorSide('strava') });
      const outcome = await spied.connectFlow.finish('strava', Object.fromEntries(back.searchParams));
      const { end } = await confirm(outcome, athlete, spied);
      expect(end.kind).toBe('connected');
      const verifier = bodies[0]?.get('code_verifier') ?? '';
      expect(sent.get('code_challenge_method')).toBe('S256');
      expect(createHash('sha256').update(verifier).digest('base64url')).toBe(sent.get('code_challenge'));
      expect(stored).not.toContain(verifier);
    } finally {
      facts.pkce = false;
    }
  });
});
