import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLogger } from '#platform';
import { Coalescer, subscriberConnection, reliabilityConnection, SessionGate } from '#reliability';
import { measureDecisions } from './gate-decisions.js';
import { measureOverload } from './gate-overload.js';
import { type Told } from './gate-replica.js';
import { report } from './harness.js';
import { type Finding } from './results.js';

// Measures the cost of the gate and the coalescer by themselves, and the effect of both in front of a slow or dead broker.
const IDENTICAL = 1_000;
const WORK_MS = 300;
const MEMORY_REQUESTS = 1_000_000;
const MEMORY_IN_FLIGHT = 256;
const MEMORY_SAMPLES = 10;
const MOST_GROWTH_MB = 2;

const logger = createLogger({ level: 'warn', process: 'bench' });
const config = { url: process.env.REDIS_URL ?? '', keyPrefix: `bench:${randomUUID()}:` };
const redis = reliabilityConnection(config, logger);
const pipelined = reliabilityConnection(config, logger, { enableAutoPipelining: true });
const subscriber = subscriberConnection(config, logger);
await Promise.all([redis, pipelined, subscriber].map((connection) => once(connection, 'ready')));

const decisions = await measureDecisions(redis, pipelined);
const identical = await shareOverTwoReplicas();
const memory = await remember();
const overload = await measureOverload();
for (const connection of [redis, pipelined, subscriber]) connection.disconnect();
await report({
  name: 'gate',
  findings: [...decisions.findings, ...identical.findings, ...memory.findings, ...overload.findings],
  raw: {
    decisions: decisions.raw,
    identical: identical.raw,
    memory: memory.raw,
    overload: overload.raw,
  },
});

interface Part {
  readonly findings: Finding[];
  readonly raw: unknown;
}

async function shareOverTwoReplicas(): Promise<Part> {
  const env = { ...process.env, REDIS_URL: config.url, REDIS_KEY_PREFIX: config.keyPrefix };
  const replicas = [0, 1].map(() => fork(new URL('./gate-replica.js', import.meta.url), { env }));
  await Promise.all(replicas.map((replica) => once(replica, 'message')));
  const order = { intent: 'one', requests: IDENTICAL / 2, workMs: WORK_MS };
  const told = await Promise.all(
    replicas.map(async (replica) => {
      const answer = once(replica, 'message') as Promise<[Told]>;
      replica.send(order);
      return (await answer)[0];
    }),
  );
  for (const replica of replicas) replica.disconnect();
  const calls = told.reduce((sum, one) => sum + one.calls, 0);
  const answered = told.reduce((sum, one) => sum + one.answered, 0);
  const slowestMs = Math.max(...told.map((one) => one.slowestMs));
  return {
    findings: [
      {
        what: `${IDENTICAL} identical requests at once, two replicas`,
        measured: `${calls} call, ${answered} answered`,
        goal: '1 call, all answered',
        met: calls === 1 && answered === IDENTICAL,
      },
      {
        what: `the slowest of them, the call taking ${WORK_MS} ms`,
        measured: `${Math.round(slowestMs)} ms`,
        goal: '≤ 1.2×',
        met: slowestMs <= 1.2 * WORK_MS,
      },
    ],
    raw: told,
  };
}

/** Measures the memory over many requests. Each request passes the gate and the coalescer. Each intent is requested twice. */
async function remember(): Promise<Part> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const gate = new SessionGate(redis, { capacity: 100, idleMs: 60_000, graceMs: 30_000 });
  const coalescer = new Coalescer(redis, subscriber, logger);
  const heapMb: number[] = [];
  const startedAt = performance.now();
  let asked = 0;
  const request = async (number: number) => {
    const pair = number >> 1;
    const client = `s${pair % 100}`;
    await gate.admit('memory', client);
    const ask = { scope: 'bench', client, intent: `e${pair}`, deadlineMs: 4_000 };
    await coalescer.share(ask, () => Promise.resolve(number));
  };
  const requester = async (until: number) => {
    while (asked < until) await request((asked += 1));
  };
  for (let sample = 0; sample <= MEMORY_SAMPLES; sample += 1) {
    const until = ((sample + 1) * MEMORY_REQUESTS) / (MEMORY_SAMPLES + 1);
    await Promise.all(Array.from({ length: MEMORY_IN_FLIGHT }, () => requester(until)));
    collect();
    heapMb.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  // The first sample is the warm-up.
  const grownMb = (heapMb.at(-1) ?? 0) - (heapMb[0] ?? 0);
  const keys = (await redis.keys(`${config.keyPrefix}coalesce*`)).length;
  return {
    findings: [
      {
        what: `heap after ${asked.toLocaleString('en')} requests, beside an eleventh of them`,
        measured: `${grownMb >= 0 ? '+' : ''}${grownMb.toFixed(1)} MB (${Math.round(asked / seconds).toLocaleString('en')} requests/s)`,
        goal: `≤ +${MOST_GROWTH_MB} MB`,
        met: grownMb <= MOST_GROWTH_MB,
      },
      {
        what: 'entries of the coalescer left, in the process and in Redis',
        measured: `${coalescer.size} and ${keys}`,
        goal: '0 and 0',
        met: coalescer.size === 0 && keys === 0,
      },
    ],
    raw: { heapMb, seconds },
  };
}
