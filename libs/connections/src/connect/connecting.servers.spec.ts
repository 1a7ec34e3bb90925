import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createLogger } from '#platform';
import { ConnectionsHarness, connect, newAthlete, plainHttp, type Worker } from '../connections.harness.js';
import { PROVIDERS, type Provider } from '../oauth/provider.js';
import { oauthFacts } from '../oauth/providers.js';

const RETURN = 'https://app.example/settings/strava?tab=2';

let harness: ConnectionsHarness;
let worker: Worker;
const heard: string[] = [];
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  const note = (what: string) => (athleteId: string, provider: Provider) => {
    heard.push(`${what} ${athleteId} ${provider}`);
    return Promise.reject(new Error('listeners hinder nobody'));
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
  new URL((await worker.connecting.start(athleteId, provider, returnUrl)).authorizeUrl);
const vendorSide = (provider: Provider, more = {}) => harness.simulator.newAthlete(provider, more);

describe.each(PROVIDERS)('connecting %s', (provider) => {
  it('keeps what was granted, tells the listeners, and gives a token that works', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    const outcome = await connect(harness, worker, athlete, provider, { athlete_id: vendorId }, RETURN);
    expect(outcome).toMatchObject({ provider, end: { kind: 'connected' }, returnUrl: RETURN });
    expect(await worker.connections.list(athlete)).toEqual([
      {
        provider,
        status: 'active',
        vendor_athlete_id: vendorId,
        scopes: oauthFacts[provider].scopes,
        connected_at: expect.stringMatching(/^20\d\d-.*Z$/),
      },
    ]);
    expect(heard).toContain(`connected ${athlete} ${provider}`);
    const access = await worker.connections.access(athlete, provider);
    expect(access).toMatchObject({
      athleteId: athlete,
      vendorAthleteId: vendorId,
      generation: expect.any(Number),
    });
    expect(await worker.connections.athleteOf(provider, vendorId)).toEqual({
      athleteId: athlete,
      generation: access.generation,
      connectedAt: expect.stringMatching(/^20\d\d-/),
    });
    expect(JSON.stringify(await rows(athlete))).not.toContain(access.token);
  });

  it('ends it: nothing is left here, the generation rises, the vendor forgets us', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    await connect(harness, worker, athlete, provider, { athlete_id: vendorId });
    expect(await harness.simulator.isConnected(vendorId)).toBe(true);
    const before = await worker.connections.access(athlete, provider);
    expect(await worker.connections.disconnect(athlete, provider)).toBe(true);
    expect(await rows(athlete)).toEqual([]);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
    expect(heard).toContain(`disconnected ${athlete} ${provider}`);
    const { rows: athletes } = await worker.database.query<{ generation: string }>(
      'select generation from athlete where id = $1',
      [athlete],
    );
    expect(Number(athletes[0]?.generation)).toBeGreaterThan(before.generation);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
    expect(await worker.connections.disconnect(athlete, provider)).toBe(false);
  });

  it('keeps nothing where a needed permission was unticked, says which, and gives the grant back', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide(provider);
    const [first] = oauthFacts[provider].requiredScopes;
    const others = oauthFacts[provider].scopes.filter((scope) => !first?.includes(scope));
    const choice = { athlete_id: vendorId, scope_granted: others.join(',') };
    const outcome = await connect(harness, worker, athlete, provider, choice);
    expect(outcome.end).toEqual({ kind: 'missing_scope', missing: [first] });
    expect(await rows(athlete)).toEqual([]);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
  });
});

describe('a consent', () => {
  it('asks for what is needed, with a state that is nowhere stored', async () => {
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

  it('is content when only the private activities are kept back', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava'), scope_granted: 'read,activity:read' };
    const outcome = await connect(harness, worker, athlete, 'strava', choice);
    expect(outcome.end).toEqual({ kind: 'connected' });
    expect(await worker.connections.list(athlete)).toMatchObject([{ scopes: ['read', 'activity:read'] }]);
  });

  it('names what is missing even where that is what would tell whose grant it is', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('whoop'), scope_granted: 'offline,read:sleep' };
    const { end } = await connect(harness, worker, athlete, 'whoop', choice);
    expect(end).toEqual({ kind: 'missing_scope', missing: [['read:profile']] });
    expect(await rows(athlete)).toEqual([]);
  });

  it('may be declined', async () => {
    const athlete = await newAthlete(worker);
    const outcome = await connect(harness, worker, athlete, 'strava', { decision: 'deny' }, RETURN);
    expect(outcome).toMatchObject({ end: { kind: 'denied' }, returnUrl: RETURN });
  });

  it('keeps an id beyond 2^53 to the digit', async () => {
    const athlete = await newAthlete(worker);
    const vendorId = await vendorSide('strava', { athlete_id: '9007199254740995' });
    await connect(harness, worker, athlete, 'strava', { athlete_id: vendorId });
    expect(await worker.connections.list(athlete)).toMatchObject([{ vendor_athlete_id: vendorId }]);
  });

  it('works once, even for many at the same moment', async () => {
    const athlete = await newAthlete(worker);
    const back = await harness.simulator.consent(String(await started(athlete)), {
      athlete_id: await vendorSide('strava'),
    });
    const query = Object.fromEntries(back.searchParams);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => worker.connecting.finish('strava', query)));
    expect(outcomes.map(({ end }) => end.kind).sort()).toEqual(['connected', 'stale', 'stale', 'stale']);
  });

  it('is too old after ten minutes, of anybody’s clock but the database’s, and is purged later', async () => {
    const athlete = await newAthlete(worker);
    const age = (interval: string) =>
      worker.database.query(
        `update oauth_flow set expires_at = expires_at - interval '${interval}' where athlete_id = $1`,
        [athlete],
      );
    const state = (await started(athlete, 'strava', RETURN)).searchParams.get('state');
    await age('10 minutes');
    const outcome = await worker.connecting.finish('strava', { state, code: 'x' });
    expect(outcome).toMatchObject({ end: { kind: 'stale' }, returnUrl: RETURN });

    await started(athlete);
    await age('2 hours');
    await started(await newAthlete(worker));
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
    ['a code nobody issued', (state) => ({ state, code: 'nonsense\0', scope: 'read' }), 'refused'],
    ['another error', (state) => ({ state, error: 'server_error', code: 'x' }), 'refused'],
    ['an error given twice', (state) => ({ state, error: ['access_denied'] }), 'refused'],
  ];
  it.each(strange)('answers %s readably and stores nothing', async (_, query, kind) => {
    const athlete = await newAthlete(worker);
    const state = (await started(athlete)).searchParams.get('state') ?? '';
    expect((await worker.connecting.finish('strava', query(state))).end.kind).toBe(kind);
    expect(await rows(athlete)).toEqual([]);
  });

  it('does not take a state to another provider, and does not use it up there', async () => {
    const athlete = await newAthlete(worker);
    const back = await harness.simulator.consent(String(await started(athlete)), {
      athlete_id: await vendorSide('strava'),
    });
    const query = Object.fromEntries(back.searchParams);
    expect((await worker.connecting.finish('oura', query)).end).toEqual({ kind: 'stale' });
    expect((await worker.connecting.finish('strava', query)).end).toEqual({ kind: 'connected' });
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
  ])('with a vendor that answers %s ends as %s', async (kind, expected) => {
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

  it('says why where nobody knows whose grant it is, and no secret', async () => {
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
    const telling = await harness.worker({ http, logger });
    const athlete = await newAthlete(worker);
    const { end } = await connect(harness, telling, athlete, 'oura', {
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

  it('with a wrong client secret is no fault of the athlete', async () => {
    const misconfigured = await harness.worker({ env: { STRAVA_CLIENT_SECRET: 'wrong' } });
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    const { end } = await connect(harness, misconfigured, athlete, 'strava', choice);
    expect(end.kind).toBe('app_refused');
  });

  it('is not begun for a vendor that is unknown, or not configured, or to return to a stranger', async () => {
    const bare = await harness.worker({ env: { OURA_CLIENT_ID: '', OURA_CLIENT_SECRET: '' } });
    const athlete = await newAthlete(worker);
    await expect(bare.connecting.start(athlete, 'oura')).rejects.toThrow('Oura is not offered here');
    await expect(bare.connecting.start(athlete, 'garmin')).rejects.toThrow('no such provider');
    await expect(worker.connecting.start(athlete, 'strava', 'https://evil.example')).rejects.toMatchObject({
      details: ['return_url: is not on the list of RETURN_URLS'],
    });
  });
});

describe('whose account it is', () => {
  it('stays with the athlete who connected it, and their grant lives on', async () => {
    const [owner, other] = [await newAthlete(worker), await newAthlete(worker)];
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, owner, 'strava', choice);
    expect((await connect(harness, worker, other, 'strava', choice)).end).toEqual({ kind: 'taken' });
    expect(await rows(other)).toEqual([]);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);

    // Nor does a stranger's half-hearted consent to that account end it.
    const half = { ...choice, scope_granted: 'read' };
    expect((await connect(harness, worker, other, 'strava', half)).end.kind).toBe('missing_scope');
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  it('is decided for one when two connect it at the same moment', async () => {
    const athletes = await Promise.all([1, 2, 3, 4].map(() => newAthlete(worker)));
    const choice = { athlete_id: await vendorSide('oura') };
    const outcomes = await Promise.all(
      athletes.map((athlete) => connect(harness, worker, athlete, 'oura', choice)),
    );
    expect(outcomes.map(({ end }) => end.kind).sort()).toEqual(['connected', 'taken', 'taken', 'taken']);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  it('is not changed over by connecting another one: the second grant is given back', async () => {
    const athlete = await newAthlete(worker);
    const [first, second] = [await vendorSide('strava'), await vendorSide('strava')];
    await connect(harness, worker, athlete, 'strava', { athlete_id: first });
    const { end } = await connect(harness, worker, athlete, 'strava', { athlete_id: second });
    expect(end).toEqual({ kind: 'other_account' });
    expect(await worker.connections.list(athlete)).toMatchObject([{ vendor_athlete_id: first }]);
    expect(await harness.simulator.isConnected(second)).toBe(false);
  });

  it('connected again by its owner gets new tokens and is mended', async () => {
    const athlete = await newAthlete(worker);
    const choice = { athlete_id: await vendorSide('strava') };
    await connect(harness, worker, athlete, 'strava', choice);
    const { token } = await worker.connections.access(athlete, 'strava');
    await worker.database.query("update connection set status = 'needs_reauth' where athlete_id = $1", [
      athlete,
    ]);
    await expect(worker.connections.access(athlete, 'strava')).rejects.toMatchObject({
      code: 'CONNECTIONS.NEEDS_REAUTH',
    });
    const both = await Promise.all([1, 2].map(() => connect(harness, worker, athlete, 'strava', choice)));
    expect(both.map(({ end }) => end.kind)).toEqual(['connected', 'connected']);
    expect((await worker.connections.access(athlete, 'strava')).token).not.toBe(token);
    expect(await rows(athlete)).toHaveLength(1);
  });
});

describe('a grant that is to end while the vendor is away', () => {
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

  it('is ended later, by a token that is encrypted meanwhile', async () => {
    const { choice } = await ended();
    expect(await worker.revocations.runOnce()).toBe(0);
    await isDue();
    const [tried, alsoTried] = await Promise.all([
      worker.revocations.runOnce(),
      worker.revocations.runOnce(),
    ]);
    expect(tried + alsoTried).toBe(1);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(false);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
  });

  it('is left alone when the athlete has connected again', async () => {
    const { athlete, choice } = await ended();
    await connect(harness, worker, athlete, 'strava', choice);
    await isDue();
    expect(await worker.revocations.runOnce()).toBe(0);
    expect(await harness.simulator.isConnected(choice.athlete_id)).toBe(true);
  });

  it('is given up after thirty attempts', async () => {
    await ended();
    await harness.simulator.fault('strava', 'revoke', 'http_500');
    await worker.database.query('update revocation set attempts = 29, next_attempt_at = now()');
    expect(await worker.revocations.runOnce()).toBe(1);
    expect((await worker.database.query('select from revocation')).count).toBe(0);
  });
});

describe('PKCE', () => {
  it('sends the challenge along, and the verifier that fits it with the code', async () => {
    const bodies: URLSearchParams[] = [];
    const spying = {
      call: (request: Parameters<typeof plainHttp.call>[0]) => {
        bodies.push(new URLSearchParams(request.body));
        return plainHttp.call(request);
      },
    };
    const facts = oauthFacts.strava as { pkce: boolean };
    facts.pkce = true;
    try {
      const spied = await harness.worker({ http: spying });
      const athlete = await newAthlete(worker);
      const { authorizeUrl } = await spied.connecting.start(athlete, 'strava');
      const asked = new URL(authorizeUrl).searchParams;
      const stored = JSON.stringify((await worker.database.query('select verifier from oauth_flow')).rows);
      const back = await harness.simulator.consent(authorizeUrl, { athlete_id: await vendorSide('strava') });
      const { end } = await spied.connecting.finish('strava', Object.fromEntries(back.searchParams));
      expect(end).toEqual({ kind: 'connected' });
      const verifier = bodies[0]?.get('code_verifier') ?? '';
      expect(asked.get('code_challenge_method')).toBe('S256');
      expect(createHash('sha256').update(verifier).digest('base64url')).toBe(asked.get('code_challenge'));
      expect(stored).not.toContain(verifier);
    } finally {
      facts.pkce = false;
    }
  });
});
