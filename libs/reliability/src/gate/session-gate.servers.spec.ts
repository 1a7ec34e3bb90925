import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { DependencyUnavailable } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { RedisServer } from '../../../../test/harness/redis-server.js';
import { ReplicaProcess } from '../../../../test/harness/replica-process.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { required } from '../../../../test/harness/servers.js';
import { gateDecisions, observeGate } from './gate-metrics.js';
import { passTime, placesOf } from './gate.harness.js';
import { type Admission, type SessionGate } from './session-gate.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
// So long that nothing is upset by a machine that is busy for a minute.
const POLICY = { capacity: 2, idleMs: 2 * HOUR_MS, graceMs: HOUR_MS };
const admitted: Admission = { kind: 'admitted' };

describe('the session gate', () => {
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

  it('gives places away until there are none, and says when to come again', async () => {
    expect([await admit('ann'), await admit('bob')]).toEqual([admitted, admitted]);
    await pass(HOUR_MS);
    const answer = await admit('cleo');
    expect(answer.kind).toBe('busy');
    const { retryAfterMs } = answer as { retryAfterMs: number };
    expect(retryAfterMs).toBeLessThanOrEqual(2 * HOUR_MS);
    expect(retryAfterMs).toBeGreaterThan(2 * HOUR_MS - 10 * MINUTE_MS);
    expect(await places()).toEqual(['ann', 'bob']);
  });

  it('knows its sessions again, also when all places are taken', async () => {
    await admit('ann');
    await admit('bob');
    expect([await admit('ann'), await admit('bob')]).toEqual([admitted, admitted]);
  });

  it('keeps the place of a session that is away for the idle time and the grace', async () => {
    await admit('ann');
    await pass(1);
    await admit('bob');
    await pass(3 * HOUR_MS - 10 * MINUTE_MS);
    expect(await admit('cleo')).toMatchObject({ kind: 'busy' });
    expect(await admit('ann')).toEqual(admitted);
  });

  it('gives the place of the one silent for longest to a newcomer, and judges the other like any newcomer', async () => {
    await admit('bob');
    await pass(MINUTE_MS);
    await admit('ann');
    await pass(3 * HOUR_MS);
    expect(await admit('cleo')).toEqual({ kind: 'rotated', replaced: 'bob' });
    expect(await admit('bob')).toEqual({ kind: 'rotated', replaced: 'ann' });
    expect(await admit('ann')).toMatchObject({ kind: 'busy' });
  });

  it('keeps the place of a session that is silent for longer while nobody wants it', async () => {
    await admit('ann');
    await pass(4 * HOUR_MS);
    await admit('bob');
    expect(await admit('ann')).toEqual(admitted);
    expect(await admit('cleo')).toMatchObject({ kind: 'busy' });
  });

  it('forgets who has been silent for ten times as long', async () => {
    await admit('ann');
    await pass(30 * HOUR_MS + 1);
    expect(await gate.sessions()).toBe(0);
    await admit('bob');
    expect(await places()).toEqual(['bob']);
  });

  it('sets the place free of who says goodbye', async () => {
    await admit('ann');
    await admit('bob');
    await gate.release('tv', 'ann');
    await gate.release('tv', 'nobody');
    expect(await admit('cleo')).toEqual(admitted);
    expect(await places()).toEqual(['bob', 'cleo']);
  });

  it('decides by name on those who fell silent in the same moment', async () => {
    gate = replica.gate({ ...POLICY, capacity: 3 });
    for (const session of ['b', 'c', 'a']) await admit(session);
    await replica.redis.zadd('gate:{tv}:sessions', 1, 'b', 1, 'c', 1, 'a');
    await pass(1 - Date.now() + 4 * HOUR_MS);
    expect(await admit('x')).toEqual({ kind: 'rotated', replaced: 'a' });
    expect(await admit('y')).toEqual({ kind: 'rotated', replaced: 'b' });
  });

  it('shrinks to fewer places by those who are silent, and never grows meanwhile', async () => {
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

  it('does not keep places for longer because a clock was set back', async () => {
    await admit('ann');
    await admit('bob');
    await pass(-100 * HOUR_MS);
    const answer = await admit('cleo');
    expect((answer as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(3 * HOUR_MS);
    await pass(3 * HOUR_MS);
    expect(await admit('cleo')).toMatchObject({ kind: 'rotated' });
  });

  it('counts pools apart, each in one slot of a cluster whatever the prefix', async () => {
    await admit('ann');
    await admit('bob');
    expect(await gate.admit('radio', 'cleo')).toEqual(admitted);
    expect(await replica.redis.keys(`${replicas.keyPrefix}*`)).toHaveLength(2);
    expect(await gate.sessions()).toBe(3);
  });

  it('leaves nothing behind for ever', async () => {
    await admit('ann');
    const left = await replica.redis.pttl('gate:{tv}:sessions');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(30 * HOUR_MS);
  });

  it('is never over capacity, two processes asking for everybody at once', async () => {
    const others = await Promise.all(
      [1, 2].map(() => ReplicaProcess.start(replicas.url, replicas.keyPrefix)),
    );
    const policy = { ...POLICY, capacity: 50 };
    const sessions = (from: number) => Array.from({ length: 200 }, (_, n) => `s${from + n}`);
    others.forEach((other, index) =>
      other.order('admit', { pool: 'tv', policy, sessions: sessions(100 * index), times: 20 }),
    );
    type Kinds = Record<string, number>;
    const kinds = await Promise.all(others.map((other) => other.told<Kinds>('kinds')));
    await Promise.all(others.map((other) => other.kill()));
    const of = (kind: string) => kinds.reduce((sum, one) => sum + (one[kind] ?? 0), 0);
    const winners = await places();
    expect(winners).toHaveLength(50);
    // Whoever got a place kept it through all rounds, in either process: nobody was silent.
    const asking = winners.reduce((sum, name) => sum + (isIn(name, 100, 200) ? 2 : 1), 0);
    expect([of('admitted'), of('busy'), of('rotated')]).toEqual([20 * asking, 20 * (400 - asking), 0]);
  });

  it('tells an abort at once, and asks nothing for who is gone already', async () => {
    await expect(gate.admit('tv', 'ann', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(await places()).toEqual([]);
    const abort = new AbortController();
    const asking = gate.admit('tv', 'ann', abort.signal);
    abort.abort(new Error('left'));
    await expect(asking).rejects.toThrow('left');
  });

  describe('without Redis', () => {
    let proxy: Proxy;
    beforeEach(async () => {
      proxy = await Proxy.before(required('REDIS_URL'));
    });
    afterEach(() => proxy.close());

    it('says so within its deadline when Redis is frozen', async () => {
      const frozen = (await replicas.start(proxy.url, 500)).gate(POLICY);
      proxy.freeze();
      const startedAt = performance.now();
      await expect(frozen.admit('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
      expect(performance.now() - startedAt).toBeGreaterThan(450);
    });

    it('says so at once when there is no connection', async () => {
      const cut = await replicas.start(proxy.url);
      proxy.cut();
      await eventually('the cut', () => cut.redis.status !== 'ready');
      await expect(cut.gate(POLICY).admit('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
      await expect(cut.gate(POLICY).release('tv', 'ann')).rejects.toThrow(DependencyUnavailable);
    });
  });

  describe('with a Redis that is killed', () => {
    let server: RedisServer;
    afterAll(() => server.kill());

    it('answers everybody, and begins anew with one that has forgotten', async () => {
      server = await RedisServer.start();
      const own = await replicas.start(server.url);
      const ownGate = own.gate({ ...POLICY, capacity: 10 });
      const told: string[] = [];
      let isOver = false;
      const asker = async (name: string) => {
        while (!isOver)
          told.push(
            await ownGate.admit('tv', name).then(
              ({ kind }) => kind,
              (error: Error) => error.name,
            ),
          );
      };
      const askers = Array.from({ length: 50 }, (_, n) => asker(`s${n}`));
      await eventually('answers', () => told.includes('admitted') && told.includes('busy'));
      await server.kill();
      await eventually('the loss', () => told.includes('DependencyUnavailable'));
      await server.start();
      await eventually('the connection again', () => own.redis.status === 'ready');
      const before = told.length;
      await eventually('answers again', () => told.lastIndexOf('busy') > before);
      isOver = true;
      await Promise.all(askers);
      expect(new Set(told)).toEqual(new Set(['admitted', 'busy', 'DependencyUnavailable']));
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

  it('count each decision by its cause', async () => {
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

  it('show the places taken, and nothing where that cannot be known', async () => {
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
