import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Jobs, Runs } from '#jobs';
import { type Database } from '#platform';
import { Looks } from '../libs/jobs/src/worker/looks.js';
import { openPool } from '../test/harness/test-database.js';
import { type Finding } from './harness.js';
import { success } from './jobs-rates.js';
import { clear, finishedJobs, newSample, percentile, type Sample } from './jobs-sample.js';

const FINISHED = 1_000_000;
const AT_ONCE = 100_000;
const OPEN_MS = 60_000;
const CALM_MS = 20_000;
// A thousand reads a day are what a vendor gives: a hundred a second is far beyond what this queue will ever see.
const EACH_MS = 10;
const OWNER = 'worker';
const LEASE_MS = 30_000;
// As the worker has them.
const MOST = 16;
const LOOK_EVERYWHERE_EACH_MS = 5_000;

/** Claims beside a million finished jobs, while a transaction keeps every dead row of a minute from being cleaned up. */
export async function tortureFindings(
  databaseUrl: string,
  admin: pg.Client,
): Promise<{ findings: Finding[]; raw: unknown }> {
  const { database, close } = await openPool(databaseUrl);
  const sample = await newSample(admin, 20_000);
  await clear(admin);
  const calm = await claims(database, sample, CALM_MS);

  for (let n = 0; n < FINISHED; n += AT_ONCE)
    await finishedJobs(admin, (await newSample(admin, AT_ONCE)).activityIds);
  await admin.query('vacuum analyze');
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query('begin isolation level repeatable read');
  await holder.query('select count(*) from jobs where status = $1', ['queued']);
  const tortured = await claims(database, sample, OPEN_MS);
  await holder.query('rollback');
  await holder.end();
  await close();

  const [before, after] = [percentile(calm, 0.99), percentile(tortured, 0.99)];
  const findings = [
    {
      what: 'claim p99 with 1 M finished and a transaction open for a minute / with neither',
      measured: `${(after / before).toFixed(2)}× (${after.toFixed(2)} ms, ${before.toFixed(2)} ms)`,
      goal: '≤ 2×',
      met: after <= 2 * before,
    },
  ];
  return { findings, raw: { calm: summary(calm), tortured: summary(tortured) } };
}

/** A job each ten milliseconds, enqueued, claimed, run and completed; answers how long the claims took. */
async function claims(
  database: Database,
  { athleteId, activityIds }: Sample,
  forMs: number,
): Promise<number[]> {
  const jobs = new Jobs(database);
  const runs = new Runs(database);
  const looks = new Looks(
    (most, sinceMs) => runs.claim(OWNER, most, LEASE_MS, sinceMs),
    LOOK_EVERYWHERE_EACH_MS,
  );
  const request = { athleteId, kind: 'auto_poll', requestedBy: 'bench', force: true } as const;
  const times: number[] = [];
  const begunAt = performance.now();
  for (let n = 0; performance.now() - begunAt < forMs; n += 1) {
    await jobs.enqueue({ ...request, activityIds: [activityIds[n % activityIds.length] ?? ''] });
    const askedAt = performance.now();
    const taken = await looks.take(MOST);
    times.push(performance.now() - askedAt);
    if (taken.length !== 1) throw new Error('nothing to claim');
    await runs.start(OWNER, taken);
    await runs.complete(OWNER, taken.map(success));
    const restMs = begunAt + (n + 1) * EACH_MS - performance.now();
    if (restMs > 0) await pause(restMs);
  }
  return times;
}

function summary(times: readonly number[]) {
  return {
    claims: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: percentile(times, 1),
  };
}
