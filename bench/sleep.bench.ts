import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import autocannon from 'autocannon';
import pg from 'pg';
import { Pool } from 'undici';
import { migrateUp } from '#platform';
import { newestOfEach } from '../libs/sleep/src/normalise/newest.js';
import { sessionOf } from '../libs/sleep/src/normalise/session.js';
import { columnsOf, saveSessions, SleepStore } from '../libs/sleep/src/normalise/sleep-store.js';
import { sleepRawReceived } from '../libs/sleep/src/contract/sleep-raw-received.js';
import { openPool } from '../test/harness/test-database.js';
import { median, report, residentMegabytes, startChild, type Child } from './harness.js';
import { nightOf } from './sleep-load.js';

// Servers, product, contender and load share the machine, so what counts are the ratios within this run.
const ROUNDS = 3;
const SECONDS = 4;
const CONNECTIONS = 64;
const MESSAGES = Number(process.env.SLEEP_MESSAGES ?? 100_000);
const RATE = 1_000;
const RATE_SECONDS = 8;
const IN_FLIGHT = 500;
const BATCH = 1_000;
const KEY = 'an-ingest-key-for-benchmarks';
const FLAGS = ['--max-semi-space-size=8'];
const DURABLE = 'normalize-sleep-durable';
const ENV = {
  PORT: '0',
  WORKER_PORT: '0',
  JWT_SECRET: 'a-secret-for-benchmarks-of-at-least-32-characters',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
  INGEST_API_KEYS: KEY,
};

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const database = new pg.Client({ connectionString: databaseUrl });
await database.connect();
await database.query(
  'create table bare_sleep (user_id text, date date, duration_minutes int, captured_at timestamptz, event_id text, primary key (user_id, date))',
);
const connection = await connect({ servers: process.env.NATS_URL });
const manager = await jetstreamManager(connection);
const js = jetstream(connection);

const upsert = await measureUpsert();
const api = await startChild('dist/apps/api/src/main.js', ENV, FLAGS);
const ingest = await measureIngest();
const bareNormalised = await measureBare();
const { normalised, megabytes, latency } = await measureWorker();
await Promise.all([api.stop(), connection.close(), database.end()]);

const number = (value: number) => Math.round(value).toLocaleString('en');
const percent = (value: number) => `${Math.round(value * 100)} %`;
const ingestRatio = median(ingest.rounds.map(({ ours, bare }) => ours / bare));
const ingested = median(ingest.rounds.map(({ ours }) => ours));
report(
  'sleep',
  [
    {
      what: 'ingest',
      measured: `${number(ingested)} req/s`,
      goal: '≥ 10,000 req/s',
      met: ingested >= 10_000,
    },
    {
      what: 'ingest / bare Fastify + JetStream',
      measured: `${percent(ingestRatio)} (bare ${number(median(ingest.rounds.map(({ bare }) => bare)))}/s)`,
      goal: '≥ 65 %',
      met: ingestRatio >= 0.65,
    },
    {
      what: `ingest p95 at ${RATE} req/s`,
      measured: `${latency.ingest.toFixed(1)} ms`,
      goal: '< 25 ms',
      met: latency.ingest < 25,
    },
    {
      what: `normaliser over ${number(MESSAGES)} messages`,
      measured: `${number(normalised)} msg/s`,
      goal: '≥ 15,000 msg/s',
      met: normalised >= 15_000,
    },
    {
      what: 'normaliser / bare consume, upsert, publish, ack',
      measured: `${percent(normalised / bareNormalised)} (bare ${number(bareNormalised)}/s)`,
      goal: '≥ 50 %',
      met: normalised / bareNormalised >= 0.5,
    },
    {
      what: `publish to ack p95 at ${RATE} msg/s`,
      measured: `${latency.toAck.toFixed(1)} ms`,
      goal: '< 100 ms',
      met: latency.toAck < 100,
    },
    {
      what: `end to end p95 at ${RATE} req/s`,
      measured: `${latency.endToEnd.toFixed(1)} ms`,
      goal: '< 150 ms',
      met: latency.endToEnd < 150,
    },
    { what: 'worker RSS', measured: `${number(megabytes)} MB`, goal: '< 300 MB', met: megabytes < 300 },
    {
      what: `guarded upsert, ${BATCH} at a time`,
      measured: `${number(upsert.sessions)} rows/s (with the nights ${number(upsert.both)})`,
      goal: '≥ 150,000 rows/s',
      met: upsert.sessions >= 150_000,
    },
  ],
  { upsert, ingest, bareNormalised, normalised, megabytes, latency },
);

/** Half of the batches are new, half newer. */
async function measureUpsert() {
  const { database: pool, close } = await openPool(databaseUrl);
  const store = new SleepStore(pool);
  const batch = (from: number, capturedAt: string) =>
    newestOfEach(
      Array.from({ length: BATCH }, (_, n) => {
        const payload = { ...nightOf(from + n), capturedAt } as never;
        const event = { eventId: randomUUID(), payload };
        return sessionOf(event, Buffer.from(JSON.stringify(event)), 0);
      }),
    );
  const sessions: number[] = [];
  const both: number[] = [];
  for (let round = 0; round < 30; round += 1)
    for (const capturedAt of ['2025-10-02T08:00:00Z', '2025-10-02T09:00:00Z']) {
      const rows = batch(round * BATCH, capturedAt);
      let startedAt = performance.now();
      await pool.query(saveSessions, columnsOf(rows));
      sessions.push(performance.now() - startedAt);
      startedAt = performance.now();
      await store.save(batch(round * BATCH, capturedAt.replace(':00:00Z', ':30:00Z')));
      both.push(performance.now() - startedAt);
    }
  await close();
  await database.query('truncate sleep_session, sleep_data');
  return { sessions: (BATCH * 1_000) / median(sessions), both: (BATCH * 1_000) / median(both) };
}

async function measureIngest() {
  const bare = await startChild('dist/bench/bare-ingest.js', {}, FLAGS);
  const rounds: Array<{ ours: number; bare: number }> = [];
  await load(bare, '/');
  await load(api, '/api/v1/ingest/sleep');
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ bare: await load(bare, '/'), ours: await load(api, '/api/v1/ingest/sleep') });
  await bare.stop();
  await manager.streams.delete('BARE_INGEST');
  await manager.streams.purge('AA_CORE_HOT');
  return { rounds };
}

/** Every one of them answered 200. */
async function load({ url }: Child, path: string): Promise<number> {
  const requests = Array.from({ length: 100 }, (_, n) => ({
    method: 'POST' as const,
    path,
    headers: { 'content-type': 'application/json', 'x-api-key': KEY },
    body: JSON.stringify(nightOf(n)),
  }));
  const result = await autocannon({ url, connections: CONNECTIONS, duration: SECONDS, requests });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`not all answered 200: ${result.non2xx}`);
  return result.requests.average;
}

async function measureBare(): Promise<number> {
  await manager.streams.add({
    name: 'BARE',
    subjects: ['bare.raw', 'bare.stored'],
    duplicate_window: 7_200e9,
  });
  await fill('bare.raw');
  const bare = await startChild('dist/bench/bare-normalise.js', { DATABASE_URL: databaseUrl }, FLAGS);
  const perSecond = await drained('BARE', 'bare');
  await bare.stop();
  await manager.streams.delete('BARE');
  return perSecond;
}

async function measureWorker() {
  await fill(sleepRawReceived.name);
  const worker = await startChild('dist/apps/worker/src/main.js', ENV, FLAGS);
  const perSecond = await drained('AA_CORE_HOT', DURABLE);
  const megabytes = residentMegabytes(worker.process.pid ?? 0);
  const latency = await measureLatency();
  await worker.stop();
  return { normalised: perSecond, megabytes, latency };
}

async function fill(subject: string): Promise<void> {
  let next = 0;
  const publish = async () => {
    for (let n = next++; n < MESSAGES; n = next++) {
      const eventId = randomUUID();
      await js.publish(subject, JSON.stringify({ eventId, payload: nightOf(n) }), { msgID: eventId });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish));
}

/** From the first delivery until nothing is left. */
async function drained(stream: string, durable: string): Promise<number> {
  let startedAt = 0;
  for (;;) {
    const info = await manager.consumers.info(stream, durable).catch(() => undefined);
    if (info && info.delivered.consumer_seq > 0) startedAt ||= performance.now();
    if (info && startedAt && info.num_pending === 0 && info.num_ack_pending === 0)
      return (MESSAGES * 1_000) / (performance.now() - startedAt);
    await pause(20);
  }
}

/** Requests at a steady rate; each user's is followed to the event that comes of it, and each message to its ack. */
async function measureLatency() {
  const sentAt = new Map<string, number>();
  const endToEnd: number[] = [];
  const toAck: number[] = [];
  const listeners = [
    connection.subscribe('athlete-ally.sleep.normalized-stored', {
      callback: (_, message) => {
        const { record } = message.json<{ record: { userId: string } }>();
        const sent = sentAt.get(record.userId);
        if (sent !== undefined) endToEnd.push(performance.now() - sent);
      },
    }),
    connection.subscribe(`$JS.ACK.AA_CORE_HOT.${DURABLE}.>`, {
      callback: (_, message) => {
        // …<deliveries>.<stream seq>.<consumer seq>.<time in ns>.<pending>
        toAck.push(Date.now() - Number(message.subject.split('.').at(-2)) / 1e6);
      },
    }),
  ];
  await connection.flush();
  const ingest: number[] = [];
  const pool = new Pool(api.url, { connections: CONNECTIONS });
  const total = RATE * RATE_SECONDS;
  const startedAt = performance.now();
  const answers: Array<Promise<void>> = [];
  for (let n = 0; n < total;) {
    const due = Math.min(total, ((performance.now() - startedAt) * RATE) / 1_000);
    for (; n < due; n += 1) answers.push(send(n));
    await pause(1);
  }
  await Promise.all(answers);
  while (endToEnd.length < total || toAck.length < total) await pause(20);
  for (const listener of listeners) listener.unsubscribe();
  await pool.close();
  return { ingest: p95(ingest), toAck: p95(toAck), endToEnd: p95(endToEnd) };

  async function send(n: number): Promise<void> {
    const userId = `rate-${n}`;
    const body = JSON.stringify({ ...nightOf(n), userId });
    const at = performance.now();
    sentAt.set(userId, at);
    const headers = { 'content-type': 'application/json', 'x-api-key': KEY };
    const answer = await pool.request({ path: '/api/v1/ingest/sleep', method: 'POST', headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`ingest answered ${answer.statusCode}`);
    ingest.push(performance.now() - at);
  }
}

function p95(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * 0.95)] ?? 0;
}
