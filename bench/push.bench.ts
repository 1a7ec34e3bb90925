import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Vault } from '#connections';
import { Changes, createLogger, migrateUp, timeScale, Worker } from '#platform';
import { DeliveryPlanner } from '../libs/push/src/deliveries/delivery-planner.js';
import { DeliveryQueue } from '../libs/push/src/deliveries/delivery-queue.js';
import { EndpointCaller } from '../libs/push/src/deliveries/endpoint-caller.js';
import { EndpointWork } from '../libs/push/src/deliveries/endpoint-work.js';
import { newEndpointSecret } from '../libs/push/src/endpoints/signature.js';
import { openPool } from '../test/harness/test-database.js';
import { report, startChild } from './harness.js';
import { type Finding, percentile } from './results.js';
import { measureDeliveries } from './push-deliveries.js';
import { measureFeed } from './push-feed.js';
import { measureIdle } from './push-idle.js';
import { openChangeLog } from './push-log.js';
import { graphileWorker, pgBoss, type Send } from './push-peers.js';
import { measureRelay } from './push-relay.js';

const ENDPOINTS = 100;
const HANGING = 10;
const HEALTHY = ENDPOINTS - HANGING;
const CHANGES_PER_SECOND = 1_000 / HEALTHY;
const SECONDS = 20;
const WARM_UP = 20;
const BACKLOG = 10_000;
// How often the relay puts committed changes into the log.
const SEQUENCE_MS = 200;
// They take some 7 GB of disk, and their deliveries another half.
const OLD_CHANGES = Number(process.env.PUSH_OLD_CHANGES ?? 10_000_000);

type Arrival = readonly [id: string, path: string, atMs: number];

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const { database, close } = await openPool(databaseUrl, [], { poolSize: 10, statementTimeoutMs: 30_000 });
const receiver = await startChild(new URL('./push-receiver.js', import.meta.url).pathname);
const logger = createLogger({ level: 'error', process: 'bench' });
const scale = timeScale(1);
const vault = new Vault([{ version: 1, key: Buffer.alloc(32, 7) }]);
const changes = new Changes(database);
const caller = new EndpointCaller({ attemptMs: 10_000, allowPrivate: true });
const sender = new Worker(
  new EndpointWork(new DeliveryQueue(database, 5 * 86_400_000), caller, vault, scale, logger),
  scale,
  logger,
);
const planner = new DeliveryPlanner(database, scale, logger, () => sender.wake());

await createEndpoints();
sender.start();
const latency = await paced();
const rate = await backlog();
await sender.stop();
const peers = await peerRates();
await close();

const logs = [await openChangeLog(0), await openChangeLog(OLD_CHANGES)] as const;
const relay = await measureRelay(logs);
const feed = await measureFeed(logs);
const deliveries = await measureDeliveries(logs, OLD_CHANGES, { receiverUrl: receiver.url, caller, vault });
await Promise.all([receiver.stop(), caller.close()]);
const idle = await measureIdle(logs[0]);
for (const log of logs) await log.close();

const parts = { latency, rate, peers, relay, feed, deliveries, idle };
const raw = Object.entries(parts).map(([name, part]) => [name, part.raw]);
await report({
  name: 'push',
  findings: Object.values(parts).flatMap(({ findings }) => findings),
  peers: ['graphile-worker', 'pg-boss'],
  raw: { oldChanges: OLD_CHANGES, ...Object.fromEntries(raw) },
});

async function createEndpoints(): Promise<void> {
  for (let n = 0; n < ENDPOINTS; n += 1) {
    const id = randomUUID();
    const url = `${receiver.url}/${n < HANGING ? 'hang' : 'ok'}/${n}`;
    const place = { table: 'webhook_endpoint', owner: id, provider: '', column: 'secret' } as const;
    await database.query(
      `insert into webhook_endpoint (id, url, types, secret, key_version) values ($1, $2, '{*}', $3, 1)`,
      [id, url, vault.seal(newEndpointSecret(), place)],
    );
  }
}

async function arrivals(): Promise<Arrival[]> {
  return (await (await fetch(`${receiver.url}/arrivals`)).json()) as Arrival[];
}

async function arrived(count: number): Promise<void> {
  for (let seen = 0; seen < count; seen += (await arrivals()).length) await pause(50);
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Commits changes at a steady rate. Returns the time just before each commit, by the change's subject. */
async function commit(count: number, perSecond?: number): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  const begunAtMs = performance.now();
  const data = { name: 'Morning run', distance_m: 10_000, sport_type: 'Run' };
  for (let n = 0; n < count; n += 1) {
    if (perSecond) await pause(Math.max(0, begunAtMs + (n * 1_000) / perSecond - performance.now()));
    const subjectId = randomUUID();
    const change = { type: 'import.completed' as const, athleteId: subjectId, subjectId, data };
    committed.set(subjectId, nowMs());
    await database.transaction((sql) => changes.record(sql, change));
  }
  return committed;
}

/** Deliveries a second as changes happen: each of them goes to 100 endpoints, of which 10 never answer. */
async function paced(): Promise<{ findings: Finding[]; raw: unknown }> {
  let isOver = false;
  const relay = (async () => {
    while (!isOver) {
      if ((await changes.sequence()) > 0) await planner.drain();
      await pause(SEQUENCE_MS);
    }
  })();
  await commit(WARM_UP, CHANGES_PER_SECOND);
  // A late delivery of the warm-up would count as one of the measured ones.
  await arrived(WARM_UP * HEALTHY);
  const committed = await commit(Math.round(SECONDS * CHANGES_PER_SECOND), CHANGES_PER_SECOND);
  const expected = committed.size * HEALTHY;
  const got: Arrival[] = [];
  const endsAtMs = performance.now() + 60_000;
  while (got.length < expected && performance.now() < endsAtMs) {
    await pause(200);
    got.push(...(await arrivals()));
  }
  isOver = true;
  await relay;
  const { rows } = await database.query<{ id: string; subject_id: string }>(
    'select id, subject_id from change',
  );
  const subjects = new Map(rows.map(({ id, subject_id }) => [id, subject_id]));
  const delays = got.flatMap(([id, , atMs]) => {
    const committedAtMs = committed.get(subjects.get(id) ?? '');
    return committedAtMs === undefined ? [] : [atMs - committedAtMs];
  });
  const times = got.map(([, , atMs]) => atMs);
  const perSecond = (got.length * 1_000) / (Math.max(...times) - Math.min(...times));
  const distinct = new Set(got.map(([id, path]) => `${id} ${path}`)).size;
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile(delays, share)) as [
    number,
    number,
    number,
  ];
  const ms = (value: number) => `${value.toFixed(0)} ms`;
  return {
    findings: [
      finding(
        'deliveries to 90 endpoints, 10 hang',
        `${perSecond.toFixed(0)}/s`,
        '≥ 1,000/s offered (5 % less at the ends)',
        perSecond >= 950,
      ),
      finding('deliveries that did not arrive', String(expected - distinct), '0', distinct === expected),
      finding('commit to arrival, p50', ms(p50), '', true),
      finding('commit to arrival, p95', ms(p95), '≤ 500 ms', p95 <= 500),
      finding('commit to arrival, p99', ms(p99), '', true),
    ],
    raw: { perSecond, p50, p95, p99, expected, arrived: got.length, distinct },
  };
}

/** How fast a backlog drains, planning included, while the same endpoints hang. */
async function backlog(): Promise<{ findings: Finding[]; raw: unknown }> {
  await arrivals();
  await commit(Math.round(BACKLOG / HEALTHY));
  await changes.sequence();
  const expected = Math.round(BACKLOG / HEALTHY) * HEALTHY;
  const begunAtMs = performance.now();
  await planner.drain();
  await arrived(expected);
  const perSecond = (expected * 1_000) / (performance.now() - begunAtMs);
  const measured = `${perSecond.toFixed(0)}/s`;
  return {
    findings: [finding('backlog, 10 of 100 endpoints hang', measured, '≥ 1,000/s', perSecond >= 1_000)],
    raw: perSecond,
  };
}

/** Job queues as delivery queues. None of their endpoints hangs: a hanging one would hold a slot of all for 10 s. */
async function peerRates(): Promise<{ findings: Finding[]; raw: unknown }> {
  const send: Send = async (path, id) => {
    const headers = { 'webhook-id': id };
    const { signal } = new AbortController();
    const attempt = await caller.post({ url: `${receiver.url}${path}`, headers, body: '{}', signal });
    if (!attempt.isDelivered) throw new Error(attempt.error ?? 'not delivered');
  };
  const deliveries = Array.from({ length: BACKLOG }, (_, n) => ({
    path: `/ok/${n % HEALTHY}`,
    id: randomUUID(),
  }));
  const findings: Finding[] = [];
  const raw: Record<string, number> = {};
  for (const peer of [graphileWorker(databaseUrl), pgBoss(databaseUrl)]) {
    const perSecond = (deliveries.length * 1_000) / (await peer.run(deliveries, send));
    raw[peer.name] = perSecond;
    findings.push(finding(`backlog, none hangs: ${peer.name}`, `${perSecond.toFixed(0)}/s`, '', true));
  }
  return { findings, raw };
}

function finding(what: string, measured: string, goal: string, met: boolean): Finding {
  return { what, measured, goal, met };
}
