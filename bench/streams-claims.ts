import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { timeScale } from '#platform';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { openPool } from '../test/harness/test-database.js';
import { type Finding } from './harness.js';

const WORKERS = 8;
const CLAIMS = 12_000;
const RACED = 1_000;
const TIMED = 1_500;
const TERMINAL = 1_000_000;

/** Claims by eight workers with a connection each, and what a million activities that are done do to a claim. */
export async function claimFindings(databaseUrl: string): Promise<Finding[]> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  const pools = await Promise.all(
    Array.from({ length: WORKERS }, () => openPool(databaseUrl, [], { poolSize: 1 })),
  );
  const workers = pools.map(({ database }) => new StreamFetches(database, timeScale(1)));

  await admin.query('truncate activity cascade');
  const raced = await activities(admin, RACED);
  const won = await Promise.all(workers.map((worker) => claimAll(worker, raced)));
  const claimedTwice = won.reduce((sum, each) => sum + each, 0) - RACED;

  const ids = await activities(admin, CLAIMS);
  const begunAt = performance.now();
  await Promise.all(
    workers.map((worker, n) =>
      claimAll(
        worker,
        ids.filter((_, at) => at % WORKERS === n),
      ),
    ),
  );
  const perSecond = (CLAIMS * 1_000) / (performance.now() - begunAt);

  const empty = await slowest(admin, workers[0] as StreamFetches);
  await activities(admin, TERMINAL, 'success');
  await admin.query('vacuum analyze activity');
  // What a million inserts leave to be written would be written meanwhile.
  await admin.query('checkpoint');
  const full = await slowest(admin, workers[0] as StreamFetches);
  await Promise.all(pools.map((pool) => pool.close()));
  await admin.query('truncate activity cascade');
  await admin.end();

  return [
    {
      what: `claims, ${WORKERS} workers`,
      measured: `${Math.round(perSecond).toLocaleString('en')}/s`,
      goal: '≥ 4,000/s',
      met: perSecond >= 4_000,
    },
    {
      what: `claimed twice of ${RACED}, all racing`,
      measured: `${claimedTwice}`,
      goal: '0',
      met: claimedTwice === 0,
    },
    {
      what: 'claim p99 with 1 M terminal rows / with none',
      measured: `${(full.claim / empty.claim).toFixed(2)}× (${full.claim.toFixed(2)} ms, ${empty.claim.toFixed(2)} ms)`,
      goal: '≤ 2×',
      met: full.claim <= 2 * empty.claim,
    },
    {
      what: 'finding what is due, p99, the same',
      measured: `${full.due.toFixed(2)} ms, ${empty.due.toFixed(2)} ms`,
      goal: '',
      met: true,
    },
  ];
}

async function claimAll(worker: StreamFetches, ids: readonly string[]): Promise<number> {
  let won = 0;
  for (const id of ids) if (await worker.claim(id)) won += 1;
  return won;
}

interface Slowest {
  readonly due: number;
  readonly claim: number;
}

/** As a worker of the backfill does it: what is due, then the claim. The 99th percentile of each, in ms. */
async function slowest(admin: pg.Client, worker: StreamFetches): Promise<Slowest> {
  const athleteId = randomUUID();
  await activities(admin, TIMED, 'pending', athleteId);
  const dueMs: number[] = [];
  const claimMs: number[] = [];
  for (let n = 0; n < TIMED; n += 1) {
    const begunAt = performance.now();
    const [due] = await worker.due(athleteId, 1);
    const foundAt = performance.now();
    if (!due || !(await worker.claim(due.id))) throw new Error('nothing to claim');
    dueMs.push(foundAt - begunAt);
    claimMs.push(performance.now() - foundAt);
  }
  return { due: p99(dueMs), claim: p99(claimMs) };
}

function p99(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}

async function activities(
  admin: pg.Client,
  count: number,
  status = 'pending',
  athleteId: string = randomUUID(),
): Promise<string[]> {
  await admin.query('insert into athlete (id, issuer, subject) values ($1, $2, $3)', [
    athleteId,
    'bench',
    athleteId,
  ]);
  const { rows } = await admin.query<{ id: string }>(
    `insert into activity (
       athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
     )
     select $1, n::text, 'Ride', 'Ride', now() - n * interval '1 minute', 30000, 3600, 3600, 100, false, false, 0, now(), $3
     from generate_series(1, $2::int) n
     returning id`,
    [athleteId, count, status],
  );
  return rows.map(({ id }) => id);
}
