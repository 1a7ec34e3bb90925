import pg from 'pg';
import { migrateUp } from '#platform';
import { report, roundsOr } from './harness.js';
import { CONTENDERS } from './jobs-contenders.js';
import { fencingFindings } from './jobs-fencing.js';
import { pickupFindings } from './jobs-pickup.js';
import { rateFindings } from './jobs-rates.js';
import { compare, type Finding } from './results.js';

const JOBS = 10_000;
const ROUNDS = roundsOr(5);
const databaseUrl = process.env.DATABASE_URL ?? '';

await migrateUp(databaseUrl);
const admin = new pg.Client({ connectionString: databaseUrl });
await admin.connect();

const rates = await rateFindings(databaseUrl, admin);
const sustained = await sustainedFindings();
const pickup = await pickupFindings(databaseUrl, admin);
const fencing = await fencingFindings(databaseUrl, admin);
await admin.end();

await report({
  name: 'jobs',
  peers: ['graphile-worker', 'pg-boss', 'bullmq', 'ioredis'],
  findings: [rates, sustained, pickup, fencing].flatMap(({ findings }) => findings),
  raw: {
    rates: rates.raw,
    sustained: sustained.raw,
    pickup: pickup.raw,
    fencing: fencing.raw,
  },
});

/** Measures whole workers: each round runs all contenders, one after the other. Pacekeeper's default is compared with each peer. */
async function sustainedFindings(): Promise<{ findings: Finding[]; raw: unknown }> {
  const contenders = await inTurn(CONTENDERS, (open) => open(databaseUrl, admin, JOBS));
  const rates = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [n, contender] of contenders.entries()) {
      const most = contender.most ?? JOBS;
      const ms = await contender.run(most);
      // The first round is the warm-up.
      if (round > 0) rates[n]?.push((most * 1_000) / ms);
    }
  await Promise.all(contenders.map((contender) => contender.close()));
  const [own = []] = rates;
  const findings = contenders.slice(1).map(({ name, goal }, n) =>
    compare({
      what: 'jobs, enqueued, run and completed',
      peer: name,
      ours: own,
      theirs: rates[n + 1] ?? [],
      unit: '/s',
      ...(goal && { goal }),
    }),
  );
  return { findings, raw: contenders.map(({ name }, n) => ({ name, perSecond: rates[n] })) };
}

async function inTurn<T, U>(all: readonly T[], open: (one: T) => Promise<U>): Promise<U[]> {
  const opened: U[] = [];
  for (const one of all) opened.push(await open(one));
  return opened;
}
