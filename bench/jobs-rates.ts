import type pg from 'pg';
import { type RunClaim, type EndedRun, Runs } from '#processing';
import { type Database } from '#platform';
import { openPool } from '../test/harness/test-database.js';
import { type Finding, median } from './results.js';
import { clear, enqueueAll, newSample } from './jobs-sample.js';

const WORKERS = 4;
const BATCH = 100;
const JOBS = 20_000;
const ROUNDS = 5;
const LEASE_MS = 30_000;

interface Round {
  readonly enqueueMs: number;
  readonly claimMs: number;
  readonly startMs: number;
  readonly completeMs: number;
}

/** Measures the rate of each statement separately, over all jobs, with four workers and batches of a hundred. */
export async function rateFindings(
  databaseUrl: string,
  admin: pg.Client,
): Promise<{ findings: Finding[]; raw: unknown }> {
  const pools = await Promise.all(
    Array.from({ length: WORKERS }, () => openPool(databaseUrl, [], { poolSize: 1 })),
  );
  const databases = pools.map(({ database }) => database);
  const sample = await newSample(admin, JOBS);
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await clear(admin);
    const measured = await oneRound(databases, () => enqueueAll(databases[0] as Database, sample));
    // The first round is the warm-up.
    if (round > 0) rounds.push(measured);
  }
  await Promise.all(pools.map((pool) => pool.close()));
  const perSecond = (ms: (round: Round) => number) =>
    median(rounds.map((round) => (JOBS * 1_000) / ms(round)));
  const taken = perSecond(({ claimMs, completeMs }) => claimMs + completeMs);
  const whole = perSecond(
    ({ enqueueMs, claimMs, startMs, completeMs }) => enqueueMs + claimMs + startMs + completeMs,
  );
  const words = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`;
  const findings = [
    {
      what: `claim + complete, ${WORKERS} workers, ${BATCH} at a time`,
      measured: words(taken),
      goal: '≥ 20,000/s',
      met: taken >= 20_000,
    },
    {
      what: 'beside it, enqueue + claim + start + complete',
      measured: words(whole),
      goal: '',
      met: true,
    },
  ];
  return { findings, raw: rounds };
}

async function oneRound(databases: readonly Database[], enqueue: () => Promise<void>): Promise<Round> {
  const workers = databases.map((database, n) => ({ owner: `worker ${n}`, runs: new Runs(database) }));
  const enqueueMs = await timed(enqueue);
  const claimed: RunClaim[][][] = workers.map(() => []);
  const claimMs = await timed(() =>
    together(workers, async ({ owner, runs }, n) => {
      for (;;) {
        const claims = await runs.claim(owner, BATCH, LEASE_MS);
        if (claims.length === 0) return;
        claimed[n]?.push(claims);
      }
    }),
  );
  const startMs = await timed(() =>
    together(workers, async ({ owner, runs }, n) => {
      for (const claims of claimed[n] ?? []) await runs.start(owner, claims);
    }),
  );
  let completed = 0;
  const completeMs = await timed(() =>
    together(workers, async ({ owner, runs }, n) => {
      for (const claims of claimed[n] ?? []) {
        const { size } = await runs.complete(owner, claims.map(success));
        completed += size;
      }
    }),
  );
  if (completed !== JOBS) throw new Error(`${completed} of ${JOBS} completed`);
  return { enqueueMs, claimMs, startMs, completeMs };
}

export function success(claim: RunClaim): EndedRun {
  const output = { profileId: 'easy', title: 'An easy hour', descriptionHash: 'abc', resultJson: '{}' };
  return { claim, outcome: { kind: 'succeeded', output } };
}

function together<T>(all: readonly T[], work: (one: T, n: number) => Promise<void>): Promise<unknown> {
  return Promise.all(all.map(work));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}
