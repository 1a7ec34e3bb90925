import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import autocannon from 'autocannon';
import pg from 'pg';
import { Pool } from 'undici';
import { migrateUp, type Statement } from '#platform';
import { connectNats } from '../libs/platform/src/nats/connect.js';
import { sessionColumns } from '../libs/sleep/src/normalise/columns.js';
import { newestOfEach, sessionOf } from '../libs/sleep/src/normalise/session.js';
import { saveSessions, SleepStore } from '../libs/sleep/src/normalise/sleep-store.js';
import { sleepRawReceived } from '../libs/sleep/src/contract/sleep-raw-received.js';
import { openPool } from '../test/harness/test-database.js';
import { report, residentMegabytes, roundsOr, startChild, verify, type Child } from './harness.js';
import { compare, figure, type Finding } from './results.js';
import { nightOf } from './sleep-load.js';

// The servers, the product, the contender and the load share the machine, so only ratios within one run have a meaning.
const ROUNDS = roundsOr(5);
// A drain takes some 20 s with the filling of its stream.
const DRAINS = Math.min(ROUNDS, 3);
const UPSERTS = 30;
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
const connection = await connectNats(process.env.NATS_URL ?? '', 'bench');
const manager = await jetstreamManager(connection);
const js = jetstream(connection);

const upsert = await measureUpsert();
const api = await startChild('dist/apps/api/src/main.js', ENV, FLAGS);
const ingest = await measureIngest();
const drains = await measureDrains();
const latency = await measureWorker();
await Promise.all([api.stop(), connection.close(), database.end()]);

await report({
  name: 'sleep',
  peers: ['fastify', '@nats-io/jetstream', 'pg'],
  findings: [
    figure({
      what: 'ingest',
      values: ingest.rounds.map(({ ours }) => ours),
      unit: '/s',
      goal: { atLeast: 10_000 },
    }),
    compare({
      what: 'ingest',
      peer: 'bare Fastify that publishes',
      ours: ingest.rounds.map(({ ours }) => ours),
      theirs: ingest.rounds.map(({ bare }) => bare),
      unit: '/s',
      goal: { atLeast: 0.65 },
    }),
    figure({
      what: `ingest p95 at ${RATE}/s`,
      values: [latency.ingest],
      unit: 'ms',
      goal: { atMost: 25 },
    }),
    figure({
      what: `normaliser over ${MESSAGES.toLocaleString('en')} messages`,
      values: drains.map(({ ours }) => ours),
      unit: '/s',
      goal: { atLeast: 15_000 },
    }),
    compare({
      what: 'normaliser',
      peer: 'bare program that consumes, upserts, publishes and acks',
      ours: drains.map(({ ours }) => ours),
      theirs: drains.map(({ bare }) => bare),
      unit: '/s',
      goal: { atLeast: 0.5 },
    }),
    figure({
      what: `publish to ack, p95 at ${RATE}/s`,
      values: [latency.toAck],
      unit: 'ms',
      goal: { atMost: 100 },
    }),
    figure({
      what: `request to event, p95 at ${RATE}/s`,
      values: [latency.endToEnd],
      unit: 'ms',
      goal: { atMost: 150 },
    }),
    figure({
      what: 'highest RSS of the worker while it drains',
      values: drains.map(({ megabytes }) => megabytes),
      unit: 'MB',
      goal: { atMost: 300 },
    }),
    ...upsert.findings,
  ],
  raw: { upsert: upsert.raw, ingest: ingest.rounds, drains, latency },
});

/**
 * Half of the batches contain new nights, half contain newer versions of stored ones. Each batch is also written by the same statement
 * without its guards into a table without the index of nights: no upsert of these columns does less.
 */
async function measureUpsert() {
  const { database: pool, close } = await openPool(databaseUrl);
  const store = new SleepStore(pool);
  await database.query(
    `create table bare_session (like sleep_session including defaults, primary key (user_id, source, record_id))
     with (fillfactor = 50)`,
  );
  const bare = withoutGuards(saveSessions);
  const batch = (from: number, capturedAt: string) =>
    newestOfEach(
      Array.from({ length: BATCH }, (_, n) => {
        const payload = { ...nightOf(from + n), capturedAt } as never;
        const event = { eventId: randomUUID(), payload };
        return sessionOf(event, Buffer.from(JSON.stringify(event)), Date.now());
      }),
    );
  const raw = { sessions: [] as number[], bare: [] as number[], both: [] as number[] };
  const rateOf = async (work: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await work();
    return (BATCH * 1_000) / (performance.now() - startedAt);
  };
  for (let round = 0; round < UPSERTS; round += 1)
    for (const capturedAt of ['2025-10-02T08:00:00Z', '2025-10-02T09:00:00Z']) {
      const rows = sessionColumns(batch(round * BATCH, capturedAt));
      raw.bare.push(await rateOf(() => pool.query(bare, rows)));
      raw.sessions.push(await rateOf(() => pool.query(saveSessions, rows)));
      const newer = batch(round * BATCH, capturedAt.replace(':00:00Z', ':30:00Z'));
      raw.both.push(await rateOf(() => store.save(newer)));
    }
  for (const table of ['sleep_session', 'bare_session'])
    verify('sessions stored by the upserts', await countOf(table), UPSERTS * BATCH);
  await close();
  await database.query('truncate sleep_session, sleep_data');
  const findings: Finding[] = [
    compare({
      what: `guarded upsert, ${BATCH} rows at a time`,
      peer: 'the same without guards and without the index of nights',
      ours: raw.sessions,
      theirs: raw.bare,
      unit: '/s',
      goal: { atLeast: 0.75 },
    }),
    figure({ what: 'guarded upsert with the nights derived', values: raw.both, unit: '/s' }),
  ];
  return { findings, raw };
}

function withoutGuards({ text }: Statement): Statement {
  const bare = text
    .replace('insert into sleep_session', 'insert into bare_session')
    .replace(/exists \([\s\S]*\) as is_erased/, 'false as is_erased')
    .replace(/where \(\s*kept\.revision[\s\S]*?(?=\n\)\nselect)/, '');
  if (bare.includes('sleep_erasure') || bare.includes('kept.revision'))
    throw new Error('the guards have changed');
  return { name: 'save sessions without guards', text: bare };
}

async function countOf(table: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(`select count(*)::int as count from ${table}`);
  return rows[0]?.count ?? NaN;
}

interface Drain {
  /** Messages a second. */
  readonly bare: number;
  readonly ours: number;
  readonly megabytes: number;
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

/** Throws unless every request is answered with 200. */
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

/** Each round drains the same number of messages with the bare program and then with a worker that has just started. */
async function measureDrains(): Promise<Drain[]> {
  const measured: Drain[] = [];
  for (let round = 0; round < DRAINS; round += 1) {
    const bare = await drainBare(round);
    await fill(sleepRawReceived.name, round);
    const worker = await startChild('dist/apps/worker/src/main.js', ENV, FLAGS);
    const peak = highestRss(worker.process.pid ?? 0);
    const ours = await drained('AA_CORE_HOT', DURABLE);
    measured.push({ bare, ours, megabytes: peak() });
    await worker.stop();
    verify('nights stored once', await countOf('sleep_data'), (round + 1) * MESSAGES);
    verify('nights stored by the bare program', await countOf('bare_sleep'), (round + 1) * MESSAGES);
    await manager.streams.purge('AA_CORE_HOT');
  }
  return measured;
}

async function drainBare(round: number): Promise<number> {
  await manager.streams.add({
    name: 'BARE',
    subjects: ['bare.raw', 'bare.stored'],
    duplicate_window: 7_200e9,
  });
  await fill('bare.raw', round);
  const bare = await startChild('dist/bench/bare-normalise.js', { DATABASE_URL: databaseUrl }, FLAGS);
  const perSecond = await drained('BARE', 'bare');
  await bare.stop();
  await manager.streams.delete('BARE');
  return perSecond;
}

/** Samples the memory 20 times a second. The returned function stops the sampling and returns the highest sample. */
function highestRss(pid: number): () => number {
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, residentMegabytes(pid))), 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

async function measureWorker() {
  const worker = await startChild('dist/apps/worker/src/main.js', ENV, FLAGS);
  const latency = await measureLatency();
  await worker.stop();
  return latency;
}

async function fill(subject: string, round: number): Promise<void> {
  let next = round * MESSAGES;
  const end = next + MESSAGES;
  const publish = async () => {
    for (let n = next++; n < end; n = next++) {
      const eventId = randomUUID();
      await js.publish(subject, JSON.stringify({ eventId, payload: nightOf(n) }), { msgID: eventId });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish));
}

/** Messages a second, from the first delivery until none is pending or unacknowledged. */
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

/** Sends requests at a constant rate. Measures the time from each request to its event, and from each message to its ack. */
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
