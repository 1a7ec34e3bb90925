import pg from 'pg';
import { migrateUp } from '#platform';
import { type Finding, median, report } from './harness.js';
import { CONTENDERS } from './jobs-contenders.js';
import { fencingFindings } from './jobs-fencing.js';
import { pickupFindings } from './jobs-pickup.js';
import { rateFindings } from './jobs-rates.js';
import { tortureFindings } from './jobs-torture.js';

const JOBS = 10_000;
const ROUNDS = 5;
const databaseUrl = process.env.DATABASE_URL ?? '';

await migrateUp(databaseUrl);
const admin = new pg.Client({ connectionString: databaseUrl });
await admin.connect();

const rates = await rateFindings(databaseUrl, admin);
const sustained = await sustainedFindings();
const pickup = await pickupFindings(databaseUrl, admin);
const fencing = await fencingFindings(databaseUrl, admin);
const torture = await tortureFindings(databaseUrl, admin);
await admin.end();

report(
  'jobs',
  [rates, sustained, pickup, fencing, torture].flatMap(({ findings }) => findings),
  {
    rates: rates.raw,
    sustained: sustained.raw,
    pickup: pickup.raw,
    fencing: fencing.raw,
    torture: torture.raw,
  },
);

/** Whole workers, one contender after the other in each round. */
async function sustainedFindings(): Promise<{ findings: Finding[]; raw: unknown }> {
  const contenders = await inTurn(CONTENDERS, (open) => open(databaseUrl, admin, JOBS));
  const rates = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [n, contender] of contenders.entries()) {
      const most = contender.most ?? JOBS;
      const ms = await contender.run(most);
      // The first one warms up.
      if (round > 0) rates[n]?.push((most * 1_000) / ms);
    }
  await Promise.all(contenders.map((contender) => contender.close()));
  const measured = contenders.map(({ name, asItComes }, n) => ({
    name,
    asItComes,
    rate: median(rates[n] ?? []),
  }));
  const fastest = Math.max(...measured.filter(({ asItComes }) => asItComes).map(({ rate }) => rate));
  const findings = measured.map(({ name, rate }, n) => ({
    what: `sustained, enqueue included: ${name}`,
    measured: `${rate.toLocaleString('en', { maximumSignificantDigits: 4 })}/s`,
    goal: n === 0 ? '≥ its peers as they come' : 'told',
    met: n !== 0 || rate >= fastest,
  }));
  return { findings, raw: contenders.map(({ name }, n) => ({ name, perSecond: rates[n] })) };
}

async function inTurn<T, U>(all: readonly T[], open: (one: T) => Promise<U>): Promise<U[]> {
  const opened: U[] = [];
  for (const one of all) opened.push(await open(one));
  return opened;
}
