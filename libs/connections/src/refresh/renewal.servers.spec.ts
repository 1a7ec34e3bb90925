import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadProductConfig, type TokenAccess } from '#vendors';
import { eventually } from '../../../../test/harness/eventually.js';
import {
  ConnectionsHarness,
  connect,
  newAthlete,
  plainHttp,
  tokenIn,
  type ConnectionsWorker,
} from '../connections.harness.js';
import { ConnectionStore } from '../connection-store.js';
import { Vault } from '../crypto/vault.js';
import { type Http } from '../oauth/http.js';
import { type Provider } from '../oauth/provider.js';

const REFRESHER = new URL('../../../../test/harness/refresher.mjs', import.meta.url).pathname;

let harness: ConnectionsHarness;
let worker: ConnectionsWorker;
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  worker = await harness.worker();
});
afterEach(() => harness.simulator.clearFaults());
afterAll(() => harness.close());

// Oura and WHOOP rotate the refresh token with every refresh and end the old refresh token at once. This is the hardest case.
async function connected(provider: Provider = 'oura', { expired = true } = {}) {
  const athlete = await newAthlete(worker);
  const vendorId = await harness.simulator.newAthlete(provider);
  await connect(harness, worker, athlete, provider, { athlete_id: vendorId });
  const token = await tokenIn(worker.tokens.access(athlete, provider));
  if (expired) await expire(athlete);
  return { athlete, vendorId, token };
}

const expire = (athlete: string, inSeconds = -1) =>
  worker.database.query(
    "update connection set expires_at = now() + $2::float8 * interval '1 second' where athlete_id = $1",
    [athlete, inSeconds],
  );
async function leaseLeftMs(athlete: string): Promise<number> {
  const { rows } = await worker.database.query<{ left: number }>(
    `select extract(epoch from refresh_leased_until - clock_timestamp())::float8 * 1000 as left
     from connection
     where athlete_id = $1`,
    [athlete],
  );
  return rows[0]?.left ?? NaN;
}
const statusOf = async (athlete: string) => (await worker.connections.list(athlete))[0]?.status;
const tokenCalls = (provider: Provider = 'oura') => harness.simulator.calls(provider, 'token');
const kindOf = async (access: Promise<TokenAccess>) => (await access).kind;

/** An HTTP client that counts the answers and runs `after` before it returns an answer. */
function spy(after: () => Promise<void>) {
  let answers = 0;
  const http: Http = {
    async call(request) {
      const answer = await plainHttp.call(request);
      answers += 1;
      await after();
      return answer;
    },
  };
  return { http, answers: () => answers };
}

/** An HTTP client for a vendor whose clock, and so `expires_at`, is behind by `seconds`. */
function vendorBehind(seconds: number): Http {
  return {
    async call(request) {
      const outcome = await plainHttp.call(request);
      if (outcome.kind !== 'answered') return outcome;
      const json = JSON.parse(outcome.answer.body.toString()) as { expires_at?: number };
      if (json.expires_at !== undefined) json.expires_at -= seconds;
      return { ...outcome, answer: { ...outcome.answer, body: Buffer.from(JSON.stringify(json)) } };
    },
  };
}

describe('AccessTokens.access', () => {
  it('returns the stored access token without a call while it has not expired', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    const before = await tokenCalls();
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).toBe(token);
    expect(await tokenCalls()).toBe(before);
  });

  it('renews an access token three minutes before its end, but not ten minutes before', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    await expire(athlete, 10 * 60);
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).toBe(token);
    await expire(athlete, 3 * 60);
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).not.toBe(token);
  });

  it('renews a token of Strava once, also if the clock of the database is twelve hours ahead of Strava’s', async () => {
    const slow = await harness.worker({ http: vendorBehind(12 * 3_600) });
    const athlete = await newAthlete(slow);
    const vendorId = await harness.simulator.newAthlete('strava');
    await connect(harness, slow, athlete, 'strava', { athlete_id: vendorId });
    for (const calls of [0, 1]) {
      const before = await tokenCalls('strava');
      await slow.tokens.access(athlete, 'strava');
      await slow.tokens.access(athlete, 'strava');
      expect((await tokenCalls('strava')) - before).toBe(calls);
      await expire(athlete);
    }
  });

  it('returns revoked for an access to the token of an athlete without a connection', async () => {
    const athlete = await newAthlete(worker);
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('revoked');
  });

  it('eight workers at the same time refresh a token with one call, and all get the new token', async () => {
    const { athlete, token } = await connected();
    const workers = await Promise.all(Array.from({ length: 8 }, () => harness.worker()));
    const before = await tokenCalls();
    const answers = await Promise.all(workers.map((one) => tokenIn(one.tokens.access(athlete, 'oura'))));
    const tokens = new Set(answers);
    expect(tokens.size).toBe(1);
    expect(tokens).not.toContain(token);
    expect((await tokenCalls()) - before).toBe(1);
    // The next refresh succeeds only with the newest refresh token.
    await expire(athlete);
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('token');
  });

  it('refreshes a token with one call for 30 callers of one worker with a pool of two', async () => {
    const { athlete } = await connected();
    const before = await tokenCalls();
    await Promise.all(Array.from({ length: 30 }, () => worker.tokens.access(athlete, 'oura')));
    expect((await tokenCalls()) - before).toBe(1);
  });

  it('a caller who read the tokens before the last refresh gets no claim to refresh them', async () => {
    const { athlete } = await connected();
    const vault = new Vault(loadProductConfig(harness.env).encryptionKeys);
    const store = new ConnectionStore(worker.database, vault);
    const seen = await store.find(athlete, 'oura');
    await worker.tokens.access(athlete, 'oura');
    expect(await store.claimRefresh(seen!, 1_000, 0)).toBeUndefined();
  });

  it('holds no transaction open during a call to the token endpoint', async () => {
    const { athlete } = await connected();
    let inTransaction = -1;
    const { http } = spy(async () => {
      const { rows } = await worker.database.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      );
      inTransaction = rows[0]?.open ?? -1;
    });
    await (await harness.worker({ http })).tokens.access(athlete, 'oura');
    expect(inTransaction).toBe(0);
  });
});

describe('a refresh that goes wrong', () => {
  it.each(['http_500', 'timeout', 'malformed', 'http_429', 'html'])(
    'keeps the connection active after a refresh that ends with %s',
    async (kind) => {
      const { athlete } = await connected();
      await harness.simulator.fault('oura', 'token', kind);
      expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('notNow');
      expect(await statusOf(athlete)).toBe('active');
      // A malformed answer comes after the vendor has rotated the token, so the next refresh fails.
      if (kind === 'malformed') return;
      await harness.simulator.clearFaults();
      expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('token');
    },
  );

  it('returns the old token if a refresh fails while the old token is still valid', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    await expire(athlete, 60);
    await harness.simulator.fault('oura', 'token', 'http_500');
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).toBe(token);
  });

  it('no worker refreshes a connection within the cooldown after a failed refresh', async () => {
    const { athlete } = await connected();
    const workers = await Promise.all(
      [1, 2, 3, 4].map(() => harness.worker({ times: { cooldownMs: 60_000 } })),
    );
    await harness.simulator.fault('oura', 'token', 'http_500');
    const before = await tokenCalls();
    const codes = await Promise.all(workers.map((one) => kindOf(one.tokens.access(athlete, 'oura'))));
    expect(new Set(codes)).toEqual(new Set(['notNow']));
    expect((await tokenCalls()) - before).toBe(2);
  });

  it('a failed refresh from before the clock of Postgres was set back by a day holds up no further refresh', async () => {
    const { athlete } = await connected();
    const patient = await harness.worker({ times: { cooldownMs: 60_000 } });
    await harness.simulator.fault('oura', 'token', 'http_500');
    expect(await kindOf(patient.tokens.access(athlete, 'oura'))).toBe('notNow');
    await harness.simulator.clearFaults();
    await worker.database.query(
      "update connection set refresh_failed_at = refresh_failed_at + interval '1 day' where athlete_id = $1",
      [athlete],
    );
    expect(await kindOf(patient.tokens.access(athlete, 'oura'))).toBe('token');
  });

  it('sets needs_reauth for all workers after one refresh of a revoked grant', async () => {
    const { athlete, vendorId } = await connected();
    await harness.simulator.deauthorize('oura', vendorId);
    const workers = await Promise.all(Array.from({ length: 4 }, () => harness.worker()));
    const before = await tokenCalls();
    const codes = await Promise.all(workers.map((one) => kindOf(one.tokens.access(athlete, 'oura'))));
    expect(new Set(codes)).toEqual(new Set(['revoked']));
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('revoked');
    expect((await tokenCalls()) - before).toBe(1);

    await connect(harness, worker, athlete, 'oura', { athlete_id: vendorId });
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('token');
  });

  it('keeps the connection active if the vendor rejects our client at a refresh', async () => {
    const { athlete } = await connected();
    const misconfigured = await harness.worker({ env: { OURA_CLIENT_SECRET: 'wrong' } });
    expect(await kindOf(misconfigured.tokens.access(athlete, 'oura'))).toBe('notNow');
    expect(await statusOf(athlete)).toBe('active');
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('token');
  });

  it('retries a refresh once after a lost answer, and then sets needs_reauth', async () => {
    const { athlete } = await connected();
    await harness.simulator.fault('oura', 'token', 'lost_answer', { count: 1 });
    const before = await tokenCalls();
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('revoked');
    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('revoked');
    expect((await tokenCalls()) - before).toBe(2);
  });

  it('a slow refresh leaves the tokens of a later refresh in place', async () => {
    const { athlete } = await connected('strava');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowWorker = await harness.worker({ http: slow.http, times: { leaseMs: 1 } });
    const slowAccess = tokenIn(slowWorker.tokens.access(athlete, 'strava'));
    await eventually('the answer of the slow refresh', () => slow.answers() === 1);

    const token = await tokenIn(worker.tokens.access(athlete, 'strava'));
    const after = await worker.database.query('select * from connection where athlete_id = $1', [athlete]);
    release();
    expect(await slowAccess).toBe(token);
    const later = await worker.database.query('select * from connection where athlete_id = $1', [athlete]);
    expect(later.rows).toEqual(after.rows);
  });

  it('stores the tokens of a slow refresh and sets the connection active again, though a later refresh was refused', async () => {
    const { athlete } = await connected();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowWorker = await harness.worker({ http: slow.http, times: { leaseMs: 1 } });
    const slowAccess = tokenIn(slowWorker.tokens.access(athlete, 'oura'));
    await eventually('the answer of the slow refresh', () => slow.answers() === 1);

    expect(await kindOf(worker.tokens.access(athlete, 'oura'))).toBe('revoked');
    release();
    const token = await slowAccess;
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).toBe(token);
  });

  it('revokes the new tokens of a refresh if the connection is deleted during the refresh', async () => {
    const { athlete, vendorId } = await connected('whoop');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowAccess = kindOf((await harness.worker({ http: slow.http })).tokens.access(athlete, 'whoop'));
    await eventually('the answer of the slow refresh', () => slow.answers() === 1);
    await worker.database.query('delete from connection where athlete_id = $1', [athlete]);
    release();
    expect(await slowAccess).toBe('revoked');
    expect(await worker.revokeDue()).toBe(1);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
  });
});

describe('a vendor that accepts the old refresh token for 60 s', () => {
  it('recovers from a lost refresh answer if the vendor accepts the old token for 60 s', async () => {
    const lenient = await ConnectionsHarness.open({ SIMULATOR_REFRESH_GRACE_SECONDS: '60' });
    try {
      const one = await lenient.worker();
      const athlete = await newAthlete(one);
      const vendorId = await lenient.simulator.newAthlete('whoop');
      await connect(lenient, one, athlete, 'whoop', { athlete_id: vendorId });
      await one.database.query("update connection set expires_at = now() - interval '1 second'");
      await lenient.simulator.fault('whoop', 'token', 'lost_answer', { count: 1 });
      expect(await kindOf(one.tokens.access(athlete, 'whoop'))).toBe('token');
      await one.database.query("update connection set expires_at = now() - interval '1 second'");
      expect(await kindOf(one.tokens.access(athlete, 'whoop'))).toBe('token');
    } finally {
      await lenient.close();
    }
  });
});

describe('AccessTokens.rejected', () => {
  it('renews a rejected token once for four workers that report it', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    const workers = await Promise.all(Array.from({ length: 4 }, () => harness.worker()));
    const before = await tokenCalls();
    const renewed = await Promise.all(
      workers.map((one) => tokenIn(one.tokens.rejected(athlete, 'oura', token))),
    );
    expect(new Set(renewed).size).toBe(1);
    expect(renewed).not.toContain(token);
    expect((await tokenCalls()) - before).toBe(1);
    expect(await tokenIn(worker.tokens.access(athlete, 'oura'))).toBe(renewed[0]);
    expect(await tokenIn(worker.tokens.rejected(athlete, 'oura', token))).toBe(renewed[0]);
    expect((await tokenCalls()) - before).toBe(1);
  });

  it('returns revoked for a rejected token whose refresh is refused as well', async () => {
    const { athlete, vendorId, token } = await connected('strava', { expired: false });
    await harness.simulator.deauthorize('strava', vendorId);
    expect(await kindOf(worker.tokens.rejected(athlete, 'strava', token))).toBe('revoked');
    const before = await tokenCalls('strava');
    expect(await kindOf(worker.tokens.rejected(athlete, 'strava', token))).toBe('revoked');
    expect(await tokenCalls('strava')).toBe(before);
    expect(await statusOf(athlete)).toBe('needs_reauth');
  });

  it('returns revoked for a rejected token of an athlete without a connection', async () => {
    expect(await kindOf(worker.tokens.rejected(await newAthlete(worker), 'strava', 'x'))).toBe('revoked');
  });
});

describe('a refresh in several processes', () => {
  class Refresher {
    private constructor(
      private readonly child: ChildProcess,
      private readonly lines: Interface,
    ) {}

    static async start(options: Record<string, unknown>): Promise<Refresher> {
      const argument = JSON.stringify({ env: harness.env, provider: 'oura', ...options });
      const child = spawn(process.execPath, [REFRESHER, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface(child.stdout);
      await once(lines, 'line');
      return new Refresher(child, lines);
    }

    async go(): Promise<Array<{ token?: string }>> {
      const line = once(this.lines, 'line');
      this.child.stdin?.write('go\n');
      const [text] = (await line) as [string];
      return JSON.parse(text) as Array<{ token?: string }>;
    }

    async die(): Promise<NodeJS.Signals | null> {
      const ended = once(this.child, 'exit');
      this.child.stdin?.write('go\n');
      return ((await ended) as [number | null, NodeJS.Signals | null])[1];
    }
  }

  it('refreshes a token with one call for eight callers in two processes', async () => {
    const { athlete, token } = await connected();
    const options = { athleteId: athlete, instances: 4 };
    const processes = await Promise.all([Refresher.start(options), Refresher.start(options)]);
    const before = await tokenCalls();
    const answers = (await Promise.all(processes.map((one) => one.go()))).flat();
    expect(answers).toHaveLength(8);
    expect(new Set(answers.map((answer) => answer.token)).size).toBe(1);
    expect(answers[0]?.token).not.toBe(token);
    expect((await tokenCalls()) - before).toBe(1);
  });

  it.each([
    // Strava answers an early refresh with the current tokens, so the next refresh succeeds.
    ['strava', 'token'],
    // The rotated token is lost with the process, so the athlete has to connect again.
    ['oura', 'revoked'],
  ] as const)(
    'delays the next refresh until the lease ends if a process is killed before it stores the tokens (%s)',
    async (provider, end) => {
      const { athlete } = await connected(provider);
      const before = await tokenCalls(provider);
      const times = { leaseMs: 3_000 };
      const doomed = await Refresher.start({
        athleteId: athlete,
        provider,
        instances: 1,
        dieAfterAnswer: true,
        times,
      });
      expect(await doomed.die()).toBe('SIGKILL');
      expect(await statusOf(athlete)).toBe('active');

      const startedAt = performance.now();
      const leftMs = await leaseLeftMs(athlete);
      expect(await kindOf(worker.tokens.access(athlete, provider))).toBe(end);
      expect(performance.now() - startedAt).toBeGreaterThan(leftMs - 50);
      expect((await tokenCalls(provider)) - before).toBe(2);
      await expire(athlete, 3_600 * 5);
      expect(await kindOf(worker.tokens.access(athlete, provider))).toBe(end);
      expect((await tokenCalls(provider)) - before).toBe(2);
    },
  );
});
