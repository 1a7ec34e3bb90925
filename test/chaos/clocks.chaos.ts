import { canShiftClocks } from '../harness/shifted-clock.js';
import { type BudgetCase, type BudgetResult, budgetUnder } from './budget-clocks.js';
import { keepResults, MACHINE } from './results.js';
import { Disasters } from './week/disasters.js';
import { singleEngines } from './week/engines.js';
import { report } from './week/report.js';
import { liveWeek, type WeekOptions } from './week/week.js';

// npm run chaos clocks: Redis and Postgres with clocks that differ from each other and from the vendor's. First the budget at real time, with
// windows of 16 s, a frozen and a killed Redis; then the whole product, with processes killed every few seconds.
const APART: readonly BudgetCase[] = [
  { postgres: 0, redis: 0, saysDate: false },
  { postgres: -1_000, redis: 1_000, saysDate: false },
  { postgres: 1_000, redis: -1_000, saysDate: false },
  // Beyond the guard. The vendor's `Date` shows the difference.
  { postgres: 5_000, redis: 5_000, saysDate: true },
  { postgres: -5_000, redis: 5_000, saysDate: true },
  { postgres: 0, redis: -5_000, saysDate: true },
];
// Without this case a count that never finds anything would pass, too.
const TOO_FAR: BudgetCase = { postgres: 5_000, redis: 5_000, saysDate: false };
const options: WeekOptions = {
  seed: Number(process.env.CHAOS_SEED ?? 1),
  athletes: Number(process.env.CHAOS_ATHLETES ?? 10),
  activities: 3,
  days: 2,
  dayMs: 48_000,
  workers: 2,
  deletedAthletes: 1,
  settlesWithinMs: 240_000,
};

if (!canShiftClocks()) {
  console.log('skipped: the library that gives a server another clock needs a C compiler (cc)');
} else {
  const budgets = await Promise.all(
    [...APART, TOO_FAR].map(async (clocks) => ({ clocks, ...(await budgetUnder(clocks)) })),
  );
  console.table(Object.fromEntries(budgets.map(({ clocks, ...counts }) => [nameOf(clocks), counts])));
  keepResults('clocks-budget', { machine: MACHINE, budgets });
  const wrong = budgets.filter(({ clocks, ...result }) => !isAsPromised(clocks, result));
  for (const { clocks } of wrong) console.log(`not as promised: ${nameOf(clocks)}`);
  let worst = wrong.length > 0 ? 1 : 0;

  for (const postgres of [2_000, -2_000]) {
    const engines = await singleEngines({ postgres, redis: 0 });
    // Time is compressed, so that 2 s are half an hour of the vendor's windows. Without Redis the ledger would decide by the clock of Postgres
    // and exceed the limit: the first part tests that at real time.
    const result = await liveWeek(
      options,
      { ...engines, servers: [] },
      (stack, random, progress) => new Disasters(stack, random, progress),
    );
    worst = Math.max(worst, report(`clocks-postgres-${postgres > 0 ? 'ahead' : 'behind'}`, options, result));
  }
  process.exitCode = worst;
}

function nameOf({ postgres, redis, saysDate }: BudgetCase): string {
  return `Postgres ${postgres / 1_000} s, Redis ${redis / 1_000} s, ${saysDate ? 'with' : 'without'} Date`;
}

function isAsPromised(clocks: BudgetCase, { calls, overLimit, whileRedisWasAway }: BudgetResult): boolean {
  if (clocks === TOO_FAR) return overLimit > 0;
  return overLimit === 0 && calls > 0 && whileRedisWasAway > 0;
}
