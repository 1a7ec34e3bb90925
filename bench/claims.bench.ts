import pg from 'pg';
import { migrateUp } from '#platform';
import { openPool } from '../test/harness/test-database.js';
import { type ClaimSide, claimJobs, claimStreams } from './claims-measures.js';
import { report, roundsOr } from './harness.js';
import { finishedJobs } from './jobs-sample.js';
import { compare, type Finding, percentile } from './results.js';
import { activities } from './streams-claims.js';

// Claims of streams and of jobs in a database with a million finished activities and as many finished jobs, and in one with none. The two
// take turns claim by claim, so a busy moment of the machine affects both. At last a transaction stays open for a minute, which keeps dead
// rows from being vacuumed.
const ROUNDS = roundsOr(5);
const FINISHED = 1_000_000;
const AT_ONCE = 100_000;
const STREAMS = 1_500;
const JOBS = 1_500;
// A hundred jobs a second for a minute. A vendor allows a thousand reads a day, so real queues stay far below this.
const HELD_JOBS = 6_000;
const EACH_MS = 10;
const MOST_RATIO = 2;
const databaseUrl = process.env.DATABASE_URL ?? '';

const empty = await open('claims_empty', 0);
const full = await open('claims_full', FINISHED);
const sides = [empty, full] as const;
// Each first write of a page after a checkpoint goes to the log as a whole page.
await claimStreams(sides, STREAMS);
await claimJobs(sides, JOBS);
const streams: Array<readonly [number[], number[]]> = [];
const jobs: Array<readonly [number[], number[]]> = [];
for (let round = 0; round < ROUNDS; round += 1) {
  streams.push(await claimStreams(sides, STREAMS));
  jobs.push(await claimJobs(sides, JOBS));
}
const holder = new pg.Client({ connectionString: full.url });
await holder.connect();
await holder.query('begin isolation level repeatable read');
await holder.query('select count(*) from jobs where status = $1', ['queued']);
const held = await claimJobs(sides, HELD_JOBS, EACH_MS);
await holder.query('rollback');
await holder.end();
for (const { close } of sides) await close();

await report({
  name: 'claims',
  findings: [
    ...finding('claim of streams', streams),
    ...finding('claim of a job', jobs),
    ...finding('claim of a job, a transaction open for a minute', [held]),
  ],
  raw: { streams, jobs, held },
});

/** The goal is for the highest ratio of all rounds. */
function finding(what: string, rounds: ReadonlyArray<readonly [number[], number[]]>): Finding[] {
  return ([0.5, 0.99] as const).map((share) => {
    const [none, million] = [0, 1].map((side) =>
      rounds.map((round) => percentile(round[side as 0 | 1], share)),
    ) as [number[], number[]];
    const compared = compare({
      what: `${what}, p${share * 100}`,
      peer: 'the same without finished rows',
      ours: million,
      theirs: none,
      unit: 'ms',
    });
    if (share < 0.9) return compared;
    const highest = compared.against?.ratio.highest ?? NaN;
    return { ...compared, goal: `≤ ${MOST_RATIO}× in each round`, met: highest <= MOST_RATIO };
  });
}

async function open(name: string, finished: number): Promise<ClaimSide> {
  const url = new URL(databaseUrl);
  url.pathname = name;
  const creator = new pg.Client({ connectionString: databaseUrl });
  await creator.connect();
  await creator.query(`create database ${name}`);
  await creator.end();
  await migrateUp(url.href);
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  for (let n = 0; n < finished; n += AT_ONCE)
    await finishedJobs(admin, await activities(admin, AT_ONCE, 'success'));
  // The announced changes would be vacuumed during the measurement.
  await admin.query('truncate change_outbox');
  await admin.query('vacuum analyze');
  // Without this, Postgres would write the inserted rows to disk during the measurement.
  await admin.query('checkpoint');
  const { database, close } = await openPool(url.href, [], { poolSize: 1 });
  return {
    url: url.href,
    admin,
    database,
    close: async () => {
      await close();
      await admin.end();
    },
  };
}
