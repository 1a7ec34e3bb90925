import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { timeScale } from '#platform';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { openPool } from '../test/harness/test-database.js';
import { type Finding } from './results.js';

const WORKERS = 8;
const CLAIMS = 12_000;
const RACED = 1_000;

/** Measures claims by eight workers with one connection each. `npm run bench claims` measures the effect of a million finished activities. */
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
  ];
}

async function claimAll(worker: StreamFetches, ids: readonly string[]): Promise<number> {
  let won = 0;
  for (const id of ids) if (await worker.claim(id)) won += 1;
  return won;
}

/** Inserts activities of one athlete and returns their ids. */
export async function activities(
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
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
     )
     select 'strava', $1, n::text, 'Ride', 'Ride', now() - n * interval '1 minute', 30000, 3600, 3600, 100, false, false, 0, now(), $3
     from generate_series(1, $2::int) n
     returning id`,
    [athleteId, count, status],
  );
  return rows.map(({ id }) => id);
}
