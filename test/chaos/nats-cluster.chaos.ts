import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { CORE_STREAM, migrateUp } from '#platform';
import { eventually } from '../harness/eventually.js';
import { hasClusterNats, NatsCluster } from '../harness/nats-cluster.js';
import { type NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { queryPool } from '../harness/query-pool.js';
import { World } from '../harness/world.js';
import { openLedger } from './ledger.js';
import { type Count, missing, missingOfVendors, verdict } from './nats-verdict.js';
import { INGEST_KEY, SleepLoad } from './sleep-load.js';
import { Stalls } from './stalls.js';

// npm run chaos nats-cluster: two apis and three workers on a cluster of three NATS servers. Nights arrive by ingest and by webhooks, and
// changes go through the relay, while servers are killed, frozen and restarted (CHAOS_ROUNDS times). Prints the longest stall per fault, and
// compares id by id at the end.
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 2);
const CALM_MS = 5_000;
const AWAY_MS = 10_000;
const NO_QUORUM_MS = 15_000;
const DRAINED_MS = 180_000;
const CHANGES_PER_SECOND = '20';
const WRITER = 'dist/test/chaos/change-writer.js';

if (!hasClusterNats) {
  console.log('Skipped: there is no NATS 2.10.23 or newer, and an older one loses messages in a cluster.');
  process.exit(0);
}

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const cluster = await NatsCluster.start(3);
const names = [...cluster.servers.keys()];
const env = { NATS_URL: cluster.url, NATS_REPLICAS: '3', INGEST_API_KEYS: INGEST_KEY };
const world = await World.start({ databaseUrl, timeScale: 1, workers: 3, env });
const second = await ProductProcess.start('api', { ...world.env, PORT: '0' });
const pool = queryPool(databaseUrl, 3);
await openLedger(pool);
const load = new SleepLoad(world, [world.api.url, second.url]);
await load.start();
const writer = await startWriter();
const stalls = new Stalls(progress);

type Fault = (leader: NatsServer, followers: readonly NatsServer[]) => Promise<void>;
const FAULTS: ReadonlyArray<readonly [name: string, cause: Fault]> = [
  ['none', () => pause(AWAY_MS)],
  ['a follower is killed', (_, [follower]) => kill([follower!], AWAY_MS)],
  ['the leader is killed', (leader) => kill([leader], AWAY_MS)],
  ['two are killed, no quorum for 15 s', (leader, [follower]) => kill([leader, follower!], NO_QUORUM_MS)],
  ['the leader is frozen for 15 s', (leader) => freeze(leader)],
  ['all are restarted, one by one', (leader, followers) => restart([leader, ...followers])],
];

const longest: Record<string, Record<string, number>> = {};
try {
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, cause] of FAULTS) longest[name] = greatest(longest[name], await tried(name, cause));
  await endLoad();
  const calls = { what: 'calls over a limit of a vendor', count: await overLimit(), mustBeZero: true };
  report([...(await verdict(pool, cluster.url.split(','), load)), calls]);
} finally {
  await stalls.stop();
  await load.stop();
  writer.kill('SIGKILL');
  await second.stop();
  await world.stop();
  await pool.end();
  await cluster.stop();
}

/** Causes the fault, waits until all that was acknowledged during it is stored, and returns the longest stalls. */
async function tried(name: string, cause: Fault): Promise<Record<string, number>> {
  await pause(CALM_MS);
  stalls.take();
  const refusedBefore = load.refused;
  const leader = await cluster.leaderOf(CORE_STREAM);
  const followers = names.filter((one) => one !== leader).map(server);
  await cause(server(leader), followers);
  await allCurrent();
  const { size } = load.acknowledged;
  await eventually('all nights are stored', async () => (await missing(pool, load, size)) === 0, DRAINED_MS);
  const row = { ...stalls.take(), 'ingest requests refused': load.refused - refusedBefore };
  console.log(`${name}: ${JSON.stringify(row)}`);
  return row;
}

/** Ends the load, and waits until it has gone through. If something does not arrive, the verdict names it. */
async function endLoad(): Promise<void> {
  await load.stop();
  const ended = once(writer, 'close');
  writer.kill('SIGKILL');
  await ended;
  const isOver = async () =>
    (await missing(pool, load)) + (await missingOfVendors(pool, load)) === 0 && (await areChangesPublished());
  await eventually('all has gone through', isOver, DRAINED_MS).catch(console.error);
}

async function areChangesPublished(): Promise<boolean> {
  const waiting =
    'select from change_outbox union all select from change, change_relay where seq > published_seq';
  return (await pool.query(`${waiting} limit 1`)).rowCount === 0;
}

async function progress(): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ nights: string; published: string }>(
    `select (select count(*) from sleep_data where user_id like 'user-%') as nights,
       (select published_seq from change_relay) as published`,
  );
  return {
    'ingest acknowledged': load.acknowledged.size,
    'nights stored': Number(rows[0]?.nights),
    'changes on NATS': Number(rows[0]?.published),
  };
}

/** Makes changes in a process of its own; see change-writer.ts. */
async function startWriter() {
  await pool.query(
    "insert into athlete (id, issuer, subject) select id, '', id from (select gen_random_uuid() as id from generate_series(1, 20)) as made",
  );
  const own = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, CHANGES_PER_SECOND };
  const child = spawn(process.execPath, [WRITER], { env: own, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.stdout.resume();
  return child;
}

function server(name: string): NatsServer {
  const found = cluster.servers.get(name);
  if (!found) throw new Error(`there is no ${name}`);
  return found;
}

async function kill(servers: readonly NatsServer[], awayMs: number): Promise<void> {
  await Promise.all(servers.map((one) => one.kill()));
  await pause(awayMs);
  await Promise.all(servers.map((one) => one.start()));
}

async function freeze(frozen: NatsServer): Promise<void> {
  frozen.freeze();
  await pause(NO_QUORUM_MS);
  frozen.thaw();
}

async function restart(servers: readonly NatsServer[]): Promise<void> {
  for (const one of servers) {
    await one.end();
    await one.start();
    await allCurrent();
  }
}

async function allCurrent(): Promise<void> {
  await eventually('all replicas are current', () => cluster.isCurrent(CORE_STREAM), DRAINED_MS);
}

function greatest(
  one: Readonly<Record<string, number>> = {},
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(other).map(([name, value]) => [name, Math.max(value, one[name] ?? 0)]),
  );
}

async function overLimit(): Promise<number> {
  return (await world.vendorStats('oura')).over_limit + (await world.vendorStats('whoop')).over_limit;
}

function report(counts: readonly Count[]): void {
  console.log(`${ROUNDS} rounds, ${cpus().length} cores; the longest time without progress, in seconds:`);
  console.table(longest);
  console.table(
    Object.fromEntries(counts.map(({ what, count }, place) => [`${place + 1} ${what}`, { count }])),
  );
  if (counts.some(({ count, mustBeZero }) => mustBeZero && count > 0)) process.exitCode = 1;
}
