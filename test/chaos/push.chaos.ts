import { cpus } from 'node:os';
import { type Verdict } from './ledger.js';
import { PushStorm } from './push-storm.js';
import { Random } from './random.js';

// npm run chaos push: 100,000 changes (CHAOS_CHANGES) while processes and servers are killed. The order of the kills comes from CHAOS_SEED.
const CHANGES = Number(process.env.CHAOS_CHANGES ?? 100_000);
const PER_SECOND = Number(process.env.CHAOS_PER_SECOND ?? 200);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
// Between two kills, beside the time in which the killed ones start again.
const CHANGES_BETWEEN = PER_SECOND / 2;
// Chosen in addition to each one alone. The workers relay and send, so they come more often.
const TOGETHER: readonly (readonly string[])[] = [
  ['worker 1'],
  ['worker 2'],
  ['worker 1', 'worker 2'],
  ['api 1', 'api 2'],
  ['worker 1', 'nats'],
  ['worker 2', 'postgres'],
  ['api 1', 'redis', 'writer 1'],
];

const begunAtMs = performance.now();
const storm = await PushStorm.start({ changesPerSecond: PER_SECOND, deadlineMs: 600_000 });
const random = new Random(SEED);
const choices = [...storm.targets.names.map((target) => [target]), ...TOGETHER];
try {
  while (storm.targets.confirmed.size < CHANGES) {
    await storm.written(Math.min(CHANGES, storm.targets.confirmed.size + CHANGES_BETWEEN));
    const targets = random.pick(choices);
    await storm.kill(...targets);
    console.log(`${storm.targets.confirmed.size} changes confirmed; killed ${targets.join(', ')}`);
  }
  report(await storm.verdicts(), [
    ['changes whose commit was confirmed', storm.targets.confirmed.size],
    ['… and that Postgres has lost', await storm.unkept()],
    ['changes that were rolled back', storm.targets.rolledBack.size],
    ['… and that are found somewhere', await storm.undead()],
    ['deliveries with the id of another change', storm.mistaken],
    ['interrupted readers of GET', storm.interruptions],
  ]);
} finally {
  await storm.stop();
}

type Count = readonly [what: string, count: number];

function report(verdicts: readonly Verdict[], counts: readonly Count[]): void {
  const seconds = Math.round((performance.now() - begunAtMs) / 1_000);
  console.log(`seed ${SEED}, ${cpus().length} cores, ${seconds} s`);
  const kills = [...storm.kills].sort();
  console.table(
    Object.fromEntries(kills.map(([target, times]) => [target, { 'killed and started again': times }])),
  );
  console.table(Object.fromEntries(verdicts.map(({ reader, ...figures }) => [reader, figures])));
  console.table(Object.fromEntries(counts.map(([what, count]) => [what, { count }])));
  const [, unkept, , undead, mistaken] = counts.map(([, count]) => count);
  if (!verdicts.every(isRight) || unkept || undead || mistaken) process.exitCode = 1;
}

/** NATS and webhooks deliver at least once, the routes once. */
function isRight({ reader, lost, doubled, invented, disordered }: Verdict): boolean {
  const isOnce = !reader.startsWith('GET') || doubled === 0;
  return isOnce && lost + invented + disordered === 0;
}
