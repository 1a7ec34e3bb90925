import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { DependencyUnavailable } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { RedisServer } from '../../../../test/harness/redis-server.js';
import { ReplicaProcess } from '../../../../test/harness/replica-process.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { required } from '../../../../test/harness/servers.js';
import { gateDecisions, observeGate } from './session-gate.js';
import { passTime, placesOf, sharesOf } from './gate.harness.js';
import { type GateAnswer, type SessionGate } from './session-gate.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
// All times are hours, so that a busy machine that is a minute late changes no decision.
const POLICY = { capacity: 2, idleMs: 2 * HOUR_MS, graceMs: HOUR_MS };
const admitted: GateAnswer = { kind: 'admitted' };

describe('SessionGate', () => {
  let replicas: Replicas;
  let replica: Replica;
  let gate: SessionGate;
  beforeEach(async () => {
    replicas = new Replicas();
    replica = await replicas.start();
    gate = replica.gate(POLICY);
  });
  afterEach(() => replicas.end());
  const admit = (session: string) => gate.admit('tv', session);
  const places = () => placesOf(replica.redis, 'tv');
  const pass = (ms: number) => passTime(replica.redis, 'tv', ms);

  it('the gate answers busy with a retry time when all places are taken', async () => {
    expect([await admit('ann'), await admit('bob')]).toEqual([admitted, admitted]);
    await pass(HOUR_MS);
    const answer = await admit('cleo');
    expect(answer.kind).toBe('busy');
    const { retryAfterMs } = answer as { retryAfterMs: number };
    expect(retryAfterMs).toBeLessThanOrEqual(2 * HOUR_MS);
    expect(retryAfterMs).toBeGreaterThan(2 * HOUR_MS - 10 * MINUTE_MS);
    expect(await places()).toEqual(['ann', 'bob']);
  });

  it('the gate admits a session that has a place even when all places are taken', async () => {
    await admit('ann');
    await admit('bob');
    expect([await admit('ann'), await admit('bob')]).toEqual([admitted, admitted]);
  });

  it('the gate keeps a silent session’s place for the idle time and the grace', async () => {
    await admit('ann');
    await pass(1);
    await admit('bob');
    await pass(3 * HOUR_MS - 10 * MINUTE_MS);
    expect(await admit('cleo')).toMatchObject({ kind: 'busy' });
    expect(await admit('ann')).toEqual(admitted);
  });

  it('the gate gives a newcomer the place of the longest silent session, and that session then counts as a newcomer', async () => {
    await admit('bob');
    await pass(MINUTE_MS);
    await admit('ann');
    await pass(3 * HOUR_MS);
    expect(await admit('cleo')).toEqual({ kind: 'rotated', replaced: 'bob' });
    expect(await admit('bob')).toEqual({ kind: 'rotated', replaced: 'ann' });
    expect(await admit('ann')).toMatchObject({ kind: 'busy' });
  });

  it('the gate keeps a silent session’s place for longer while places are free', async () => {
    await admit('ann');
    await pass(4 * HOUR_MS);
    await admit('bob');
    expect(await admit('ann')).toEqual(admitted);
    expect(await admit('cleo')).toMatchObject({ kind: 'busy' });
  });

  it('the gate forgets a session after ten times the idle time and grace', async () => {
    await admit('ann');
    await pass(30 * HOUR_MS + 1);
    expect(await gate.sessions()).toBe(0);
    await admit('bob');
    expect(await places()).toEqual(['bob']);
  });

  it('giveBack frees a session’s place only if the session has had no heartbeat since it got the place', async () => {
    await admit('ann');
    await admit('bob');
    await pass(1);
    await admit('bob');
    for (const session of ['ann', 'bob', 'nobody']) await gate.giveBack('tv', session);
    expect(await places()).toEqual(['bob']);
    expect(await admit('cleo')).toEqual(admitted);
    expect(await places()).toEqual(['bob', 'cleo']);
  });

  describe('with a share for each address', () => {
    const from = (address: string, session: string) => gate.admit('tv', session, { address });
    const all = (address: string, sessions: readonly string[]) =>
      Promise.all(sessions.map((session) => from(address, session)));
    const hogs = Array.from({ length: 100 }, (_, n) => `hog-${n}`);
    beforeEach(() => {
      gate = replica.gate({ ...POLICY, capacity: 8, perAddress: 2 });
    });

    it('the gate admits newcomers while one address requests a hundred places', async () => {
      const answers = await all('hog', hogs);
      expect(answers.map(({ kind }) => kind)).toEqual(hogs.map((_, n) => (n < 2 ? 'admitted' : 'busy')));
      for (const newcomer of ['a', 'b', 'c', 'd', 'e', 'f'])
        expect(await from(newcomer, newcomer)).toEqual(admitted);
      expect(await from('g', 'g')).toMatchObject({ kind: 'busy' });
      expect(await sharesOf(replica.redis, 'tv')).toEqual({ hog: 2, a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 });
    });

    it('the gate admits a session that has a place, even if the session’s new address has its full share', async () => {
      await all('home', ['ann', 'bob']);
      await all('hog', hogs);
      expect(await all('hog', ['ann', 'bob'])).toEqual([admitted, admitted]);
      expect(await sharesOf(replica.redis, 'tv')).toEqual({ home: 2, hog: 2 });
    });

    it('a newcomer from an address with its full share gets only the place of a silent session of that address', async () => {
      await from('home', 'ann');
      await pass(MINUTE_MS);
      await all('hog', ['h1', 'h2']);
      expect(await from('hog', 'h3')).toEqual({ kind: 'busy', retryAfterMs: 3 * HOUR_MS });
      await pass(3 * HOUR_MS);
      expect(await from('hog', 'h3')).toEqual({ kind: 'rotated', replaced: 'h1' });
      expect(await places()).toEqual(['ann', 'h2', 'h3']);
    });

    it('the gate stops counting an address’s place when the place is taken over, given back or forgotten', async () => {
      gate = replica.gate({ ...POLICY, capacity: 2, perAddress: 2 });
      await all('home', ['ann', 'bob']);
      await pass(3 * HOUR_MS);
      expect(await from('b', 'cleo')).toEqual({ kind: 'rotated', replaced: 'ann' });
      expect(await sharesOf(replica.redis, 'tv')).toEqual({ home: 1, b: 1 });
      await gate.giveBack('tv', 'cleo');
      expect(await sharesOf(replica.redis, 'tv')).toEqual({ home: 1 });
      await pass(30 * HOUR_MS);
      await from('c', 'dora');
      expect(await sharesOf(replica.redis, 'tv')).toEqual({ c: 1 });
    });
  });

  it('the gate replaces equally silent sessions in the order of their names', async () => {
    gate = replica.gate({ ...POLICY, capacity: 3 });
    for (const session of ['b', 'c', 'a']) await admit(session);
    await replica.redis.zadd('gate:{tv}:places', 1, 'b', 1, 'c', 1, 'a');
    await pass(1 - Date.now() + 4 * HOUR_MS);
    expect(await admit('x')).toEqual({ kind: 'rotated', replaced: 'a' });
    expect(await admit('y')).toEqual({ kind: 'rotated', replaced: 'b' });
  });

  it('a gate with a lowered capacity admits no newcomer until enough sessions are silent, then removes the silent sessions', async () => {
    gate = replica.gate({ ...POLICY, capacity: 4 });
    for (const session of ['a', 'b', 'c', 'd']) await admit(session);
    gate = replica.gate(POLICY);
    expect(await admit('x')).toMatchObject({ kind: 'busy' });
    expect(await admit('d')).toEqual(admitted);
    await pass(3 * HOUR_MS);
    await admit('d');
    expect(await admit('x')).toEqual({ kind: 'rotated', replaced: 'a' });
    expect(await places()).toEqual(['d', 'x']);
  });

  it('the gate keeps no place longer than usual after Redis’ clock was set back', async () => {
    await admit('ann');
    await admit('bob');
    await pass(-100 * HOUR_MS);
    const answer = await admit('cleo');
    expect((answer as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(3 * HOUR_MS);
    await pass(3 * HOUR_MS);
    expect(await admit('cleo')).toMatchObject({ kind: 'rotated' });
  });

  it('the gate has places for each pool separately, and counts the sessions of all pools together', async () => {
    await admit('ann');
    await admit('bob');
    expect(await gate.admit('radio', 'cleo')).toEqual(admitted);
    expect(await replica.redis.keys(`${replicas.keyPrefix}*:places`)).toHaveLength(2);
    expect(await gate.sessions()).toBe(3);
  });

  it('all keys of the gate expire', async () => {
    await admit('ann');
    for (const key of ['places', 'holders', 'addresses']) {
      const left = await replica.redis.pttl(`gate:{tv}:${key}`);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(30 * HOUR_MS + 1_000);
    }
  });

  it('the gate never exceeds its capacity while two processes request places at once', async () => {
    const others = await Promise.all(
      [1, 2].map(() => ReplicaProcess.start(replicas.url, replicas.keyPrefix)),
    );
    const policy = { ...POLICY, capacity: 50 };
    const sessions = (from: number) => Array.from({ length: 200 }, (_, n) => `s${from + n}`);
    others.forEach((other, index) =>
      other.send('admit', { pool: 'tv', policy, sessions: sessions(100 * index), times: 20 }),
    );
    type Kinds = Record<string, number>;
    const kinds = await Promise.all(others.map((other) => other.printed<Kinds>('kinds')));
    await Promise.all(others.map((other) => other.kill()));
    const of = (kind: string) => kinds.reduce((sum, one) => sum + (one[kind] ?? 0), 0);
    const winners = await places();
    expect(winners).toHaveLength(50);
    // Each session that got a place kept it in all rounds and both processes, since none was silent.
    const processes = winners.reduce((sum, name) => sum + (isIn(name, 100, 200) ? 2 : 1), 0);
    expect([of('admitted'), of('busy'), of('rotated')]).toEqual([20 * processes, 20 * (400 - processes), 0]);
  });

  it('admit rejects at once when its signal aborts, and requests no place if the signal has already aborted', async () => {
    await expect(gate.admit('tv', 'ann', { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    );
    expect(await places()).toEqual([]);
    const abort = new AbortController();
    const admitting = gate.admit('tv', 'ann', { signal: abort.signal });
    abort.abort(new Error('left'));
    await expect(admitting).rejects.toThrow('left');
  });

  describe('without Redis', () => {
    let proxy: Proxy;
    beforeEach(async () => {
      proxy = await Proxy.before(required('REDIS_URL'));
    });
    afterEach(() => proxy.close());

    it('admit rejects with DependencyUnavailable after the command timeout while Redis is frozen', async () => {
      const frozen = (await replicas.start(proxy.url, 500)).gate(POLICY);
      proxy.freeze();
      const startedAt = performance.now();
      await expect(frozen.admit('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
      expect(performance.now() - startedAt).toBeGreaterThan(450);
    });

    it('admit and giveBack reject with DependencyUnavailable at once without a connection to Redis', async () => {
      const cut = await replicas.start(proxy.url);
      proxy.cut();
      await eventually('the cut', () => cut.redis.status !== 'ready');
      await expect(cut.gate(POLICY).admit('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
      await expect(cut.gate(POLICY).giveBack('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
    });
  });

  describe('with a Redis that is killed', () => {
    let server: RedisServer;
    afterAll(() => server.kill());

    it('the gate answers every request while Redis is killed, and fills its places again after the restart', async () => {
      server = await RedisServer.start();
      const own = await replicas.start(server.url);
      const ownGate = own.gate({ ...POLICY, capacity: 10 });
      const answers: string[] = [];
      let isOver = false;
      const keepAdmitting = async (name: string) => {
        while (!isOver)
          answers.push(
            await ownGate.admit('tv', name).then(
              ({ kind }) => kind,
              (error: Error) => error.name,
            ),
          );
      };
      const clients = Array.from({ length: 50 }, (_, n) => keepAdmitting(`s${n}`));
      await eventually('answers', () => answers.includes('admitted') && answers.includes('busy'));
      await server.kill();
      await eventually('the loss', () => answers.includes('DependencyUnavailable'));
      await server.start();
      await eventually('the connection again', () => own.redis.status === 'ready');
      const before = answers.length;
      await eventually('answers again', () => answers.lastIndexOf('busy') > before);
      isOver = true;
      await Promise.all(clients);
      expect(new Set(answers)).toEqual(new Set(['admitted', 'busy', 'DependencyUnavailable']));
      expect(await placesOf(own.redis, 'tv')).toHaveLength(10);
    });
  });
});

describe('the metrics of the gate', () => {
  const replicas = new Replicas();
  afterAll(() => replicas.end());
  const valueOf = async (name: string, cause?: string) => {
    const { values } = await register.getSingleMetric(name)!.get();
    return values.find(({ labels }) => labels['cause'] === cause)?.value;
  };
  const counted = (cause: string) => valueOf('gate_decisions_total', cause);

  it('gate_decisions_total counts each decision by its cause', async () => {
    const { redis, gate } = await replicas.start();
    const sessions = gate({ capacity: 1, idleMs: HOUR_MS, graceMs: 0 });
    const causes = ['admitted', 'rotated', 'capacity_busy', 'redis_unavailable', 'policy_blocked'];
    const before = await Promise.all(causes.map(counted));
    await sessions.admit('m', 'ann');
    await sessions.admit('m', 'bob');
    await passTime(redis, 'm', 2 * HOUR_MS);
    await sessions.admit('m', 'bob');
    redis.disconnect();
    await expect(sessions.admit('m', 'ann')).rejects.toThrow(DependencyUnavailable);
    gateDecisions.inc({ cause: 'policy_blocked' });
    const after = await Promise.all(causes.map(counted));
    expect(after.map((value, index) => value! - (before[index] ?? 0))).toEqual([1, 1, 1, 1, 1]);
  });

  it('gate_sessions shows the places taken, and is absent without Redis', async () => {
    const { redis, gate } = await replicas.start();
    const sessions = gate(POLICY);
    observeGate(sessions);
    expect(await valueOf('gate_sessions')).toBe(0);
    await sessions.admit('n', 'ann');
    await sessions.admit('o', 'ann');
    expect(await valueOf('gate_sessions')).toBe(2);
    redis.disconnect();
    expect(await valueOf('gate_sessions')).toBeUndefined();
  });
});

function isIn(name: string, from: number, to: number): boolean {
  const number = Number(name.slice(1));
  return number >= from && number < to;
}
