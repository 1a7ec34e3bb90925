import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, DependencyUnavailable } from '#platform';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { DecisionLog } from './decision-log.js';
import { passTime } from './gate.harness.js';
import { gateDecisions, logDecisions } from './session-gate.js';

const silent = createLogger({ level: 'silent', process: 'test' });
const KEY = 'gate:decisions';
const HOUR_MS = 3_600_000;

describe('the log of gate decisions', () => {
  let replicas: Replicas;
  let replica: Replica;
  let logs: DecisionLog[];
  beforeEach(async () => {
    replicas = new Replicas();
    replica = await replicas.start();
    logs = [new DecisionLog(replica.redis, silent), new DecisionLog(replica.redis, silent)];
  });
  afterEach(async () => {
    await Promise.all(logs.map((log) => log.close()));
    replicas.end();
  });
  const sumOf = async () => {
    const causes: Record<string, number> = {};
    for (const minute of await logs[0]!.lastHour())
      for (const [cause, count] of Object.entries(minute.causes))
        causes[cause] = (causes[cause] ?? 0) + count;
    return causes;
  };

  it('the log adds up the decisions of several replicas by cause', async () => {
    for (const log of logs) for (let n = 0; n < 3; n += 1) log.note('admitted');
    logs[1]!.note('capacity_busy');
    await Promise.all(logs.map((log) => log.flush()));
    expect(await sumOf()).toEqual({ admitted: 6, capacity_busy: 1 });
  });

  it('each decision of a gate in this process is in the log', async () => {
    logDecisions(logs[0]!);
    const gate = replica.gate({ capacity: 1, idleMs: HOUR_MS, graceMs: 0 });
    await gate.admit('tv', 'ann');
    await gate.admit('tv', 'bob');
    gateDecisions.inc({ cause: 'policy_blocked' });
    expect(await sumOf()).toEqual({ admitted: 1, capacity_busy: 1, policy_blocked: 1 });
  });

  it('minutes of more than an hour ago are left out, and deleted with the next decision', async () => {
    const minute = Math.floor(Date.now() / 60_000);
    await replica.redis.hset(KEY, `${minute - 59} admitted`, 2, `${minute - 90} admitted`, 5);
    expect(await sumOf()).toEqual({ admitted: 2 });
    logs[0]!.note('rotated');
    await logs[0]!.flush();
    expect(Object.keys(await replica.redis.hgetall(KEY))).toHaveLength(2);
    expect(await replica.redis.ttl(KEY)).toBeGreaterThan(3_600);
  });

  it('a replica keeps its counts while Redis is away, and a reader gets DependencyUnavailable', async () => {
    const own = await replicas.start();
    const log = new DecisionLog(own.redis, silent);
    const ended = new Promise((resolve) => own.redis.once('end', resolve));
    own.redis.disconnect();
    await ended;
    log.note('redis_unavailable');
    await log.flush();
    await expect(log.lastHour()).rejects.toThrow(DependencyUnavailable);
    await own.redis.connect();
    await log.close();
    expect(await sumOf()).toEqual({ redis_unavailable: 1 });
  });
});

describe('the places of a pool', () => {
  const replicas = new Replicas();
  afterEach(() => replicas.end());

  it('places lists the sessions by their latest heartbeat, without names, and says which are idle', async () => {
    const { redis, gate } = await replicas.start();
    const sessions = gate({ capacity: 5, idleMs: HOUR_MS, graceMs: HOUR_MS });
    await sessions.admit('tv', 'ann', { address: '192.0.2.1' });
    await passTime(redis, 'tv', 2 * HOUR_MS);
    await sessions.admit('tv', 'bob', { address: '192.0.2.2' });
    const { capacity, used, places } = await sessions.places('tv', 10);
    expect({ capacity, used }).toEqual({ capacity: 5, used: 2 });
    expect(places.map(({ isIdle }) => isIdle)).toEqual([false, true]);
    expect(places[1]!.heldMs).toBeGreaterThanOrEqual(2 * HOUR_MS);
    expect(JSON.stringify(places)).not.toMatch(/ann|192/);
    expect((await sessions.places('tv', 1)).places).toHaveLength(1);
    expect(await sessions.places('other', 1)).toMatchObject({ used: 0, waiting: 0, places: [] });
  });

  it('places counts a refused session as waiting until it gets a place, or has not asked for as long as a place is kept', async () => {
    const { redis, gate } = await replicas.start();
    const sessions = gate({ capacity: 1, idleMs: HOUR_MS, graceMs: HOUR_MS });
    const waiting = async () => (await sessions.places('queue', 1)).waiting;
    await sessions.admit('queue', 'ann');
    await passTime(redis, 'queue', HOUR_MS);
    for (const name of ['bob', 'bob', 'cleo']) await sessions.admit('queue', name);
    await passTime(redis, 'queue', HOUR_MS);
    expect(await waiting()).toBe(2);
    expect(await sessions.admit('queue', 'bob')).toMatchObject({ kind: 'rotated' });
    expect(await waiting()).toBe(1);
    await passTime(redis, 'queue', HOUR_MS);
    expect(await waiting()).toBe(0);
  });

  it('the gate remembers the newest 1,000 refused sessions', async () => {
    const { redis, gate } = await replicas.start();
    const sessions = gate({ capacity: 1, idleMs: HOUR_MS, graceMs: 0 });
    await sessions.admit('crowd', 'ann');
    await Promise.all(Array.from({ length: 1_500 }, (_, n) => sessions.admit('crowd', `viewer ${n}`)));
    expect((await sessions.places('crowd', 1)).waiting).toBe(1_000);
    expect(await redis.pttl('gate:{crowd}:refused')).toBeGreaterThan(0);
  });
});
