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
  const contenders = await Promise.all(CONTENDERS.map((open) => open(databaseUrl, admin, JOBS)));
  const rates = contenders.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [n, contender] of contenders.entries()) {
      const ms = await contender.run(JOBS);
      // The first one warms up.
      if (round > 0) rates[n]?.push((JOBS * 1_000) / ms);
    }
  await Promise.all(contenders.map((contender) => contender.close()));
  const findings = contenders.map(({ name }, n) => ({
    what: `sustained, enqueue included: ${name}`,
    measured: `${Math.round(median(rates[n] ?? [])).toLocaleString('en')}/s`,
    goal: 'told: its peers are not installed',
    met: true,
  }));
  return { findings, raw: contenders.map(({ name }, n) => ({ name, perSecond: rates[n] })) };
}
