import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { NatsServer } from '../harness/nats-server.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { ProductProcess } from '../harness/process.js';
import { queryPool } from '../harness/query-pool.js';
import { World } from '../harness/world.js';
import { Flows } from './fault-points/flows.js';
import { armed, FAULT_POINTS, type FaultPoint } from './fault-points/points.js';
import { openLedger } from './ledger.js';
import { keepResults, MACHINE } from './results.js';
import { Followers } from './week/followers.js';
import { isWrong, type Line, Oracle } from './week/oracle.js';
import { INGEST_KEY } from './week/stack.js';

// npm run chaos fault-points: a process kills itself at each named point of every flow and is started again. Then the vendors' data, the
// database and what every follower has got are compared, and the vendors say whether a call was over a limit. CHAOS_FLOW: one flow only.
const TIME_SCALE = 60;
// A vendor's token that was refreshed still works, so that an answer that is lost with its process costs no consent.
const GRACE = { SIMULATOR_REFRESH_GRACE_SECONDS: '21600' };
const REACHED_MS = 120_000;
const BEGIN_AGAIN_MS = 5_000;
const SETTLED_MS = 180_000;
const LOOK_EVERY_MS = 500;

interface Row {
  readonly killed: boolean;
  readonly compared: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly 'over limit': number;
  readonly 'calls made twice': number;
  readonly 'whole after s': number;
}

const points = FAULT_POINTS.filter(({ flow }) => flow === (process.env.CHAOS_FLOW ?? flow));
const [postgres, nats] = await Promise.all([PostgresServer.start(), NatsServer.start()]);
const env = {
  NATS_URL: nats.url,
  INGEST_API_KEYS: INGEST_KEY,
  WEBHOOKS_ALLOW_PRIVATE: '1',
};
const address = { PORT: String(await freePort()) };
const world = await World.start({
  ...{ timeScale: TIME_SCALE, workers: 0, databaseUrl: postgres.url, vendors: GRACE },
  env: { ...env, ...address, PUBLIC_URL: `http://127.0.0.1:${address.PORT}` },
});
const pool = queryPool(postgres.url, 3);
const rows: Record<string, Row> = {};
try {
  await openLedger(pool);
  await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.url}/webhooks/whoop` });
  const followers = await Followers.start(world, [nats.url]);
  const flows = new Flows(world);
  await world.startWorker();
  await flows.prepare(points.filter(({ flow }) => flow === 'deletion').length);
  const { accounts, posts: pulse, deleted } = flows;
  const compared = { pool, world, natsUrls: [nats.url], accounts, pulse, followers, unreadable: [], deleted };
  const oracle = new Oracle(compared);
  const unsettled = (await settled(oracle)).filter(isWrong);
  if (unsettled.length > 0) throw new Error(`nothing was killed yet: ${JSON.stringify(unsettled)}`);
  for (const point of points) {
    const name = `${point.flow}: ${point.name}`;
    rows[name] = await tried(point, flows, oracle);
    console.log(name, JSON.stringify(rows[name]));
  }
  await followers.stop();
} finally {
  await world.stop();
  await pool.end();
  await Promise.all([postgres.stop(), nats.stop()]);
}
console.table(rows);
keepResults('fault-points', { machine: MACHINE, rows });
const failed = Object.values(rows).filter(
  (row) => !row.killed || row.lost + row.doubled + row.wrong + row['over limit'] > 0,
);
if (failed.length > 0) process.exitCode = 1;

async function tried(point: FaultPoint, flows: Flows, oracle: Oracle): Promise<Row> {
  await Promise.all([...world.workers].map((worker) => worker.stop()));
  world.workers.length = 0;
  const before = await counts();
  const killed = await killedAt(point, flows);
  const begunAtMs = performance.now();
  await world.startWorker();
  const lines = await settled(oracle);
  const after = await counts();
  const sum = (pick: (line: Line) => number) => lines.reduce((all, line) => all + pick(line), 0);
  for (const { what, examples } of lines.filter(isWrong)) console.log(what, examples);
  return {
    ...{ killed, compared: sum((line) => line.tried), lost: sum((line) => line.lost) },
    ...{ doubled: sum((line) => line.doubled), wrong: sum((line) => line.wrong) },
    'over limit': after.overLimit - before.overLimit,
    'calls made twice': after.twice - before.twice,
    'whole after s': Math.round((performance.now() - begunAtMs) / 1_000),
  };
}

/** Resolves once the process has killed itself. False: it never came to the point. */
async function killedAt(point: FaultPoint, flows: Flows): Promise<boolean> {
  if (point.process === 'api') {
    await world.api.stop();
    world.api = await ProductProcess.start('api', { ...world.env, ...armed(point) });
    const { api } = world;
    const isDead = await dies(api, () => flows.begin(point.flow));
    world.api = await ProductProcess.start('api', world.env);
    return isDead;
  }
  await flows.begin(point.flow);
  const worker = ProductProcess.spawn('worker', { ...world.env, ...armed(point) });
  return dies(worker, () => flows.begin(point.flow));
}

/** Begins the flow again now and then: another process may have been quicker. */
async function dies(victim: ProductProcess, begin: () => Promise<void>): Promise<boolean> {
  const endsAtMs = performance.now() + REACHED_MS;
  if (victim === world.api) await begin();
  for (let waitedMs = LOOK_EVERY_MS; performance.now() < endsAtMs; waitedMs += LOOK_EVERY_MS) {
    if (victim.hasEnded) {
      if (!victim.stderr) return true;
      throw new Error(`the process ended by itself: ${victim.stderr}`);
    }
    if (waitedMs % BEGIN_AGAIN_MS === 0) await begin();
    await pause(LOOK_EVERY_MS);
  }
  victim.signal('SIGKILL');
  await victim.exited();
  return false;
}

async function settled(oracle: Oracle): Promise<Line[]> {
  let lines: Line[] = [];
  const look = async () => {
    lines = await oracle.lines();
    await pause(LOOK_EVERY_MS);
    return !lines.some(isWrong);
  };
  await eventually('all is whole again', look, SETTLED_MS).catch((error: Error) =>
    console.log(error.message),
  );
  return lines;
}

async function counts(): Promise<{ readonly overLimit: number; readonly twice: number }> {
  const [strava, whoop] = [await world.vendorStats('strava'), await world.vendorStats('whoop')];
  return {
    overLimit: strava.over_limit + whoop.over_limit,
    twice: strava.duplicate_requests + whoop.duplicate_requests,
  };
}
