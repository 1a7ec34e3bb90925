import { cpus } from 'node:os';
import { canRun, type Fault, type Route, ROUTES } from './postgres-pair.js';
import { PostgresStorm, type Stall } from './postgres-storm.js';

// npm run chaos postgres: a primary with a synchronous standby, two apis, three workers and the simulator under load. The primary is killed or
// frozen and the standby promoted, CHAOS_ROUNDS times each, found by several hosts in the URL and behind PgBouncer.
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1);
const FAULTS: readonly Fault[] = ['SIGKILL', 'SIGSTOP'];
const MOST_STALL_S = 10;
// Not judged: how much there was, and calls whose answer could not be stored.
const NOT_JUDGED = [
  'activities of the vendor',
  'acknowledged nights',
  'acknowledged counters',
  'calls made twice',
];

const only = process.env.CHAOS_ROUTE;
for (const route of ROUTES) {
  if (only && only !== route) continue;
  if (canRun(route)) await run(route);
  else console.log(`${route}: PgBouncer is not installed, so this route is left out`);
}

async function run(route: Route): Promise<void> {
  const begunAtMs = performance.now();
  const storm = await PostgresStorm.start(route);
  try {
    const stalls: Record<string, Stall> = {};
    for (let round = 1; round <= ROUNDS; round += 1)
      for (const fault of FAULTS) {
        stalls[`${fault} ${round}`] = await storm.failOver(fault);
        console.log(`${route}: ${fault}`, stalls[`${fault} ${round}`]);
      }
    const counts = await storm.counts();
    const verdicts = await storm.verdicts();
    const seconds = Math.round((performance.now() - begunAtMs) / 1_000);
    console.log(
      `${route}: ${cpus().length} cores, ${seconds} s; the longest time without an answer, in seconds`,
    );
    console.table(stalls);
    console.table(Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, { count }])));
    console.table(Object.fromEntries(verdicts.map(({ reader, ...figures }) => [reader, figures])));
    const wrong = Object.entries(counts).filter(([what, count]) => count > 0 && !NOT_JUDGED.includes(what));
    const isWhole = verdicts.every(
      ({ lost, doubled, invented, disordered }) => lost + doubled + invented + disordered === 0,
    );
    const isFast = Object.values(stalls).every(
      ({ writes, reads }) => Math.max(writes, reads) <= MOST_STALL_S,
    );
    if (wrong.length > 0 || !isWhole || !isFast) process.exitCode = 1;
  } finally {
    await storm.stop();
  }
}
