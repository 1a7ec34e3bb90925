import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import { RedisSentinels } from '../harness/redis-sentinels.js';
import { type RedisServer } from '../harness/redis-server.js';
import { report } from './redis-report.js';
import { type Fault, RedisStorm } from './redis-storm.js';

// npm run chaos redis-sentinel: one master, two replicas and three Sentinels under load. The master is killed, frozen and replaced by order.
// The simulator counts calls over a limit; all that the vendor has and all that was acknowledged must arrive.
const FROZEN_MS = 15_000;

const sentinels = await RedisSentinels.start();
const storm = await RedisStorm.start(sentinels.url);

const faults: readonly Fault[] = [
  { name: 'kill the master', run: kill },
  { name: 'fail-over, asked for', run: failOver },
  { name: 'freeze the master for 15 s', run: freeze },
  { name: 'kill a replica', run: killReplica },
  { name: 'kill the master again', run: kill },
];

try {
  process.exitCode = await report(
    '1 master, 2 replicas, 3 Sentinels, down-after-milliseconds 2000',
    storm,
    faults,
  );
} finally {
  await storm.stop();
  await sentinels.stop();
}

async function kill(): Promise<void> {
  const master = await sentinels.master();
  await master.crash();
  await otherThan(master);
  await master.start();
  await sentinels.isWhole();
}

async function failOver(): Promise<void> {
  const master = await sentinels.master();
  await sentinels.failOver();
  await otherThan(master);
  await sentinels.isWhole();
}

async function freeze(): Promise<void> {
  const master = await sentinels.master();
  master.freeze();
  await pause(FROZEN_MS);
  master.thaw();
  await otherThan(master);
  await sentinels.isWhole();
}

async function killReplica(): Promise<void> {
  const replica = await sentinels.replica();
  await replica.crash();
  await pause(FROZEN_MS / 3);
  await replica.start();
  await sentinels.isWhole();
}

function otherThan(master: RedisServer): Promise<boolean> {
  return eventually('another master', async () => (await sentinels.master()) !== master, 60_000);
}
