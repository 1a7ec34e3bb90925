import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import { RedisCluster } from '../harness/redis-cluster.js';
import { report } from './redis-report.js';
import { type Fault, RedisStorm } from './redis-storm.js';

// npm run chaos redis-cluster: three masters and three replicas under load. Masters are killed, frozen and replaced by order. The simulator
// counts calls over a limit; all that the vendor has and all that was acknowledged must arrive.
const FROZEN_MS = 15_000;

const cluster = await RedisCluster.start(1);
const storm = await RedisStorm.start(cluster.url);
// The tags of the keys that matter: Strava's budget, the queues, the places.
const BUDGET = '{strava}';
const QUEUES = '{bull}';
const GATE = '{playback}';

const faults: readonly Fault[] = [
  { name: 'kill the master of the budget', run: () => kill(BUDGET) },
  { name: 'kill the master of the queues', run: () => kill(QUEUES) },
  { name: 'fail-over of the budget, asked for', run: () => failOver(BUDGET) },
  { name: 'fail-over of the queues, asked for', run: () => failOver(QUEUES) },
  { name: 'freeze the master of the budget for 15 s', run: () => freeze(BUDGET) },
  { name: 'freeze the master of the queues for 15 s', run: () => freeze(QUEUES) },
  { name: 'kill the master of the places', run: () => kill(GATE) },
  { name: 'kill a replica of the budget', run: () => killReplica(BUDGET) },
];

try {
  process.exitCode = await report(
    'Redis Cluster of 3 masters and 3 replicas, cluster-node-timeout 2 s',
    storm,
    faults,
  );
} finally {
  await storm.stop();
  await cluster.stop();
}

async function kill(key: string): Promise<void> {
  const master = await cluster.masterOf(key);
  await master.crash();
  await eventually('another master', async () => (await cluster.masterOf(key)) !== master, 60_000);
  await master.start();
  await cluster.isWhole();
}

async function failOver(key: string): Promise<void> {
  const master = await cluster.masterOf(key);
  await (await cluster.replicaOf(master)).command('CLUSTER', 'FAILOVER');
  await eventually('another master', async () => (await cluster.masterOf(key)) !== master, 60_000);
  await cluster.isWhole();
}

async function freeze(key: string): Promise<void> {
  const master = await cluster.masterOf(key);
  master.freeze();
  await pause(FROZEN_MS);
  master.thaw();
  await cluster.isWhole();
}

async function killReplica(key: string): Promise<void> {
  const replica = await cluster.replicaOf(await cluster.masterOf(key));
  await replica.crash();
  await pause(FROZEN_MS / 3);
  await replica.start();
  await cluster.isWhole();
}
