import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { get, PlaybackWorld, streamPath } from '../harness/playback.js';
import { type ProductProcess } from '../harness/process.js';
import { RedisCluster } from '../harness/redis-cluster.js';

const HOG = '198.51.100.9';
const NEWCOMERS = ['203.0.113.1', '203.0.113.2', '2001:db8:0:1::1', '2001:db8:0:2::1'];

// The gate's scripts use more keys than others, so its tests run on a Cluster. playback-causes.spec.ts tests the gate on one Redis.
describe('the places of the add-on', () => {
  let cluster: RedisCluster;
  let world: PlaybackWorld;
  let api: ProductProcess;
  let gates = 0;
  beforeAll(async () => {
    cluster = await RedisCluster.start();
    world = await PlaybackWorld.open({ REDIS_URL: cluster.url });
  });
  afterEach(() => world.simulator.clearFaults());
  afterAll(async () => {
    await world?.close();
    await cluster?.stop();
  });

  /** Starts an api with its own gate. The api trusts the local address as a proxy, so `x-forwarded-for` names the client's address. */
  async function startGate(env: Readonly<Record<string, string>>): Promise<void> {
    gates += 1;
    const own = { REDIS_KEY_PREFIX: `test:gate-${gates}:`, TRUST_PROXY: '127.0.0.1,::1' };
    api = await world.startApi({ ...own, ...env });
  }
  const reasonOf = async (address: string, session: string, episode?: string) => {
    const { status, body } = await get(api, streamPath(session, episode), { 'x-forwarded-for': address });
    expect(status).toBe(200);
    return body.reason ?? 'sources';
  };
  const hundred = (address: (n: number) => string, episode?: string) =>
    Promise.all(Array.from({ length: 100 }, (_, n) => reasonOf(address(n), `hog-${n}`, episode)));
  const placesTaken = async () => {
    const metrics = await (await fetch(`${api.url}/metrics`)).text();
    return Number(/^gate_sessions (\d+)$/m.exec(metrics)?.[1]);
  };

  it('a made-up episode takes no place and causes no call to the broker, even for new sessions', async () => {
    await startGate({ GATE_CAPACITY: '4', GATE_PER_ADDRESS: '4' });
    expect(await reasonOf(HOG, 'first')).toBe('sources');
    const before = await world.simulator.calls('broker', 'resolve');
    expect(new Set(await hundred(() => HOG, 'pacekeeper:made-up'))).toEqual(new Set(['not_found']));
    expect(await world.simulator.calls('broker', 'resolve')).toBe(before);
    expect(await placesTaken()).toBe(1);
  });

  it('new viewers get places while one address requests a hundred places, and sessions with a place keep it', async () => {
    await startGate({ GATE_CAPACITY: '8' });
    expect(await reasonOf(NEWCOMERS[0]!, 'watching')).toBe('sources');
    const hogs = await hundred(() => HOG);
    expect(hogs.filter((reason) => reason === 'sources')).toHaveLength(2);
    expect(hogs.filter((reason) => reason === 'capacity_busy')).toHaveLength(98);
    for (const address of NEWCOMERS) expect(await reasonOf(address, `new-${address.length}`)).toBe('sources');
    expect(await reasonOf(HOG, 'watching')).toBe('sources');
  });

  it('all addresses of one IPv6 /64 together get the places of one address', async () => {
    await startGate({ GATE_CAPACITY: '8', GATE_PER_ADDRESS: '3' });
    const reasons = await hundred((n) => `2001:db8:0:9::${n.toString(16)}`);
    expect(reasons.filter((reason) => reason === 'sources')).toHaveLength(3);
  });

  it('the gate frees a place when the broker has no sources or refuses the viewer', async () => {
    await startGate({ GATE_CAPACITY: '1' });
    expect(await reasonOf(HOG, 'blocked-1')).toBe('policy_blocked');
    await world.simulator.fault('broker', 'resolve', 'not_found', { count: 1 });
    expect(await reasonOf(HOG, 'second')).toBe('not_found');
    expect(await placesTaken()).toBe(0);
    expect(await reasonOf(HOG, 'third')).toBe('sources');
  });

  it('a session that watches keeps its place when it requests an unknown episode', async () => {
    await startGate({ GATE_CAPACITY: '1' });
    expect(await reasonOf(HOG, 'watching')).toBe('sources');
    await world.simulator.fault('broker', 'resolve', 'not_found', { count: 1 });
    expect(await reasonOf(HOG, 'watching')).toBe('not_found');
    expect(await reasonOf(NEWCOMERS[0]!, 'newcomer')).toBe('capacity_busy');
    expect(await reasonOf(HOG, 'watching')).toBe('sources');
  });
});
