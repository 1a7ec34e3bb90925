import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { ConnectionsHarness, connect, newAthlete, plainHttp, type Worker } from '../connections.harness.js';
import { ConnectionStore } from '../connection-store.js';
import { Vault } from '../crypto/vault.js';
import { type Http } from '../oauth/http.js';
import { type Provider } from '../oauth/provider.js';

const REFRESHER = new URL('../../../../test/harness/refresher.mjs', import.meta.url).pathname;

let harness: ConnectionsHarness;
let worker: Worker;
beforeAll(async () => {
  harness = await ConnectionsHarness.open();
  worker = await harness.worker();
});
afterEach(() => harness.simulator.clearFaults());
afterAll(() => harness.close());

// Oura and WHOOP rotate with every refresh and let the old token die at once: the hardest case.
async function connected(provider: Provider = 'oura', { expired = true } = {}) {
  const athlete = await newAthlete(worker);
  const vendorId = await harness.simulator.newAthlete(provider);
  await connect(harness, worker, athlete, provider, { athlete_id: vendorId });
  const { token } = await worker.connections.access(athlete, provider);
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
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'fine',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

/** Counts the answers, and may hold them back. */
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

describe('access', () => {
  it('gives the token it has while that lives, without a call', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    const before = await tokenCalls();
    expect((await worker.connections.access(athlete, 'oura')).token).toBe(token);
    expect(await tokenCalls()).toBe(before);
  });

  it('renews ahead of the end, by minutes and not by an hour', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    await expire(athlete, 10 * 60);
    expect((await worker.connections.access(athlete, 'oura')).token).toBe(token);
    await expire(athlete, 3 * 60);
    expect((await worker.connections.access(athlete, 'oura')).token).not.toBe(token);
  });

  it('says who is not connected', async () => {
    const athlete = await newAthlete(worker);
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.NOT_CONNECTED');
  });

  it('makes one call for eight workers at once, and all get the new token', async () => {
    const { athlete, token } = await connected();
    const workers = await Promise.all(Array.from({ length: 8 }, () => harness.worker()));
    const before = await tokenCalls();
    const answers = await Promise.all(workers.map((one) => one.connections.access(athlete, 'oura')));
    const tokens = new Set(answers.map((answer) => answer.token));
    expect(tokens.size).toBe(1);
    expect(tokens).not.toContain(token);
    expect((await tokenCalls()) - before).toBe(1);
    // Whether the newest refresh token was kept, the next refresh tells.
    await expire(athlete);
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('fine');
  });

  it('makes one call for many callers of one worker, on a pool of two', async () => {
    const { athlete } = await connected();
    const before = await tokenCalls();
    await Promise.all(Array.from({ length: 30 }, () => worker.connections.access(athlete, 'oura')));
    expect((await tokenCalls()) - before).toBe(1);
  });

  it('makes no second call for somebody who saw the old tokens and comes late', async () => {
    const { athlete } = await connected();
    const vault = new Vault(loadConfig(harness.env).encryptionKeys);
    const store = new ConnectionStore(worker.database, vault);
    const seen = await store.find(athlete, 'oura');
    await worker.connections.access(athlete, 'oura');
    expect(await store.claimRefresh(seen!, 1_000, 0)).toBeUndefined();
  });

  it('holds no transaction and no connection while the vendor takes its time', async () => {
    const { athlete } = await connected();
    let inTransaction = -1;
    const { http } = spy(async () => {
      const { rows } = await worker.database.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      );
      inTransaction = rows[0]?.open ?? -1;
    });
    await (await harness.worker({ http })).connections.access(athlete, 'oura');
    expect(inTransaction).toBe(0);
  });
});

describe('a refresh that goes wrong', () => {
  it.each(['http_500', 'timeout', 'malformed', 'http_429', 'html'])(
    'with %s leaves the connection as good as it was',
    async (kind) => {
      const { athlete } = await connected();
      await harness.simulator.fault('oura', 'token', kind);
      expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.VENDOR_UNREACHABLE');
      expect(await statusOf(athlete)).toBe('active');
      // Before the vendor rotates, nothing is lost; a malformed answer comes after it did.
      if (kind === 'malformed') return;
      await harness.simulator.clearFaults();
      expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('fine');
    },
  );

  it('gives out the old token as long as that still works', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    await expire(athlete, 60);
    await harness.simulator.fault('oura', 'token', 'http_500');
    expect((await worker.connections.access(athlete, 'oura')).token).toBe(token);
  });

  it('leaves a vendor that does not answer alone for a while, in all workers', async () => {
    const { athlete } = await connected();
    const patient = await Promise.all(
      [1, 2, 3, 4].map(() => harness.worker({ times: { cooldownMs: 60_000 } })),
    );
    await harness.simulator.fault('oura', 'token', 'http_500');
    const before = await tokenCalls();
    const codes = await Promise.all(patient.map((one) => codeOf(one.connections.access(athlete, 'oura'))));
    expect(new Set(codes)).toEqual(new Set(['CONNECTIONS.VENDOR_UNREACHABLE']));
    expect((await tokenCalls()) - before).toBe(2);
  });

  it('with a revoked grant needs the athlete, once and for all workers, without another call', async () => {
    const { athlete, vendorId } = await connected();
    await harness.simulator.deauthorize('oura', vendorId);
    const workers = await Promise.all(Array.from({ length: 4 }, () => harness.worker()));
    const before = await tokenCalls();
    const codes = await Promise.all(workers.map((one) => codeOf(one.connections.access(athlete, 'oura'))));
    expect(new Set(codes)).toEqual(new Set(['CONNECTIONS.NEEDS_REAUTH']));
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.NEEDS_REAUTH');
    expect((await tokenCalls()) - before).toBe(1);

    await connect(harness, worker, athlete, 'oura', { athlete_id: vendorId });
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('fine');
  });

  it('with a client that the vendor does not know revokes nobody', async () => {
    const { athlete } = await connected();
    const misconfigured = await harness.worker({ env: { OURA_CLIENT_SECRET: 'wrong' } });
    expect(await codeOf(misconfigured.connections.access(athlete, 'oura'))).toBe(
      'CONNECTIONS.VENDOR_UNREACHABLE',
    );
    expect(await statusOf(athlete)).toBe('active');
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('fine');
  });

  it('with a lost answer tries the old token once more, and then needs the athlete', async () => {
    const { athlete } = await connected();
    await harness.simulator.fault('oura', 'token', 'lost_answer', { count: 1 });
    const before = await tokenCalls();
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.NEEDS_REAUTH');
    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.NEEDS_REAUTH');
    expect((await tokenCalls()) - before).toBe(2);
  });

  it('that is slow does not overwrite what a later one brought', async () => {
    const { athlete } = await connected('strava');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowWorker = await harness.worker({ http: slow.http, times: { leaseMs: 1 } });
    const slowAccess = slowWorker.connections.access(athlete, 'strava');
    await eventually('the slow one has its answer', () => slow.answers() === 1);

    const { token } = await worker.connections.access(athlete, 'strava');
    const after = await worker.database.query('select * from connection where athlete_id = $1', [athlete]);
    release();
    expect((await slowAccess).token).toBe(token);
    const later = await worker.database.query('select * from connection where athlete_id = $1', [athlete]);
    expect(later.rows).toEqual(after.rows);
  });

  it('that is slow mends what a later one, refused because of it, took for the end', async () => {
    const { athlete } = await connected();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowWorker = await harness.worker({ http: slow.http, times: { leaseMs: 1 } });
    const slowAccess = slowWorker.connections.access(athlete, 'oura');
    await eventually('the slow one has its answer', () => slow.answers() === 1);

    expect(await codeOf(worker.connections.access(athlete, 'oura'))).toBe('CONNECTIONS.NEEDS_REAUTH');
    release();
    const { token } = await slowAccess;
    expect((await worker.connections.access(athlete, 'oura')).token).toBe(token);
  });

  it('that outlives its connection ends the grant it got', async () => {
    const { athlete, vendorId } = await connected('whoop');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = spy(() => held);
    const slowAccess = codeOf(
      (await harness.worker({ http: slow.http })).connections.access(athlete, 'whoop'),
    );
    await eventually('the slow one has its answer', () => slow.answers() === 1);
    await worker.database.query('delete from connection where athlete_id = $1', [athlete]);
    release();
    expect(await slowAccess).toBe('CONNECTIONS.NOT_CONNECTED');
    expect(await worker.revocations.runOnce()).toBe(1);
    expect(await harness.simulator.isConnected(vendorId)).toBe(false);
  });
});

describe('a vendor with a grace for the old token', () => {
  it('makes good a lost answer', async () => {
    const kind = await ConnectionsHarness.open({ SIMULATOR_REFRESH_GRACE_SECONDS: '60' });
    try {
      const one = await kind.worker();
      const athlete = await newAthlete(one);
      const vendorId = await kind.simulator.newAthlete('whoop');
      await connect(kind, one, athlete, 'whoop', { athlete_id: vendorId });
      await one.database.query("update connection set expires_at = now() - interval '1 second'");
      await kind.simulator.fault('whoop', 'token', 'lost_answer', { count: 1 });
      expect(await codeOf(one.connections.access(athlete, 'whoop'))).toBe('fine');
      await one.database.query("update connection set expires_at = now() - interval '1 second'");
      expect(await codeOf(one.connections.access(athlete, 'whoop'))).toBe('fine');
    } finally {
      await kind.close();
    }
  });
});

describe('a token that the vendor rejected', () => {
  it('is renewed once, however many report it', async () => {
    const { athlete, token } = await connected('oura', { expired: false });
    const workers = await Promise.all(Array.from({ length: 4 }, () => harness.worker()));
    const before = await tokenCalls();
    const ends = await Promise.all(workers.map((one) => one.connections.rejected(athlete, 'oura', token)));
    expect(ends).toEqual(['renewed', 'renewed', 'renewed', 'renewed']);
    expect((await tokenCalls()) - before).toBe(1);
    expect((await worker.connections.access(athlete, 'oura')).token).not.toBe(token);
    expect(await worker.connections.rejected(athlete, 'oura', token)).toBe('renewed');
    expect((await tokenCalls()) - before).toBe(1);
  });

  it('is revoked where the refresh is refused too', async () => {
    const { athlete, vendorId, token } = await connected('strava', { expired: false });
    await harness.simulator.deauthorize('strava', vendorId);
    expect(await worker.connections.rejected(athlete, 'strava', token)).toBe('revoked');
    const before = await tokenCalls('strava');
    expect(await worker.connections.rejected(athlete, 'strava', token)).toBe('revoked');
    expect(await tokenCalls('strava')).toBe(before);
    expect(await statusOf(athlete)).toBe('needs_reauth');
  });

  it('of somebody who is gone is revoked', async () => {
    expect(await worker.connections.rejected(await newAthlete(worker), 'strava', 'x')).toBe('revoked');
  });
});

describe('over processes', () => {
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

    async go(): Promise<Array<{ token?: string; code?: string }>> {
      const line = once(this.lines, 'line');
      this.child.stdin?.write('go\n');
      const [text] = (await line) as [string];
      return JSON.parse(text) as Array<{ token?: string; code?: string }>;
    }

    async die(): Promise<NodeJS.Signals | null> {
      const ended = once(this.child, 'exit');
      this.child.stdin?.write('go\n');
      return ((await ended) as [number | null, NodeJS.Signals | null])[1];
    }
  }

  it('eight refreshers in two processes make one call and end with one token', async () => {
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
    // Strava answers an early refresh with the tokens there are: the next one gets through.
    ['strava', 'fine'],
    // The rotated token died with the process: only the athlete can mend it.
    ['oura', 'CONNECTIONS.NEEDS_REAUTH'],
  ] as const)(
    'one killed between answer and storing holds up the next for a lease (%s)',
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

      const leftMs = await leaseLeftMs(athlete);
      const startedAt = performance.now();
      expect(await codeOf(worker.connections.access(athlete, provider))).toBe(end);
      expect(performance.now() - startedAt).toBeGreaterThan(leftMs - 50);
      expect((await tokenCalls(provider)) - before).toBe(2);
      await expire(athlete, 3_600 * 5);
      expect(await codeOf(worker.connections.access(athlete, provider))).toBe(end);
      expect((await tokenCalls(provider)) - before).toBe(2);
    },
  );
});
