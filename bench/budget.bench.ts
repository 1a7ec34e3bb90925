import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { createLogger, Database, migrateUp, timeScale } from '#platform';
import { budgetConnection, Ledger, stravaPolicy, VendorBudget, type VendorPolicy } from '#rate-limit';
import { median, report } from './harness.js';

// One question to the budget (four counters, reserve, boundary, state) against the nearest thing there is: a union of two
// windows, each charged by a call of its own. Both on the same Redis, in turn.
const ROUNDS = 5;
const QUESTIONS = 20_000;
const IN_FLIGHT = [1, 32, 256];
const NEVER_FULL = 1_000_000_000;

const databaseUrl = process.env.DATABASE_URL ?? '';
const redisUrl = process.env.REDIS_URL ?? '';
await migrateUp(databaseUrl);
const dataSource = await new DataSource({ type: 'postgres', url: databaseUrl }).initialize();
const logger = createLogger({ level: 'warn', process: 'bench' });

const ours = budgetConnection({ url: redisUrl, keyPrefix: `bench:${randomUUID()}:` }, logger);
const theirs = new Redis(redisUrl);
await once(ours, 'ready');
const budget = new VendorBudget(
  endless(stravaPolicy),
  ours,
  new Ledger(new Database(dataSource), 'strava'),
  timeScale(1),
  logger,
);
const union = new RateLimiterUnion(
  new RateLimiterRedis({ storeClient: theirs, keyPrefix: randomUUID(), points: NEVER_FULL, duration: 900 }),
  new RateLimiterRedis({
    storeClient: theirs,
    keyPrefix: randomUUID(),
    points: NEVER_FULL,
    duration: 86_400,
  }),
);
const decide = () => budget.decide({ class: 'import', endpoint: 'activity', userId: null });
const consume = () => union.consume('strava');

interface Round {
  readonly ours: Measured;
  readonly union: Measured;
}

await measure(decide, 32);
await measure(consume, 32);
const rounds = new Map<number, Round[]>();
for (const inFlight of IN_FLIGHT) {
  const measured: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    measured.push({ union: await measure(consume, inFlight), ours: await measure(decide, inFlight) });
  rounds.set(inFlight, measured);
}
ours.disconnect();
theirs.disconnect();
await dataSource.destroy();

const at = (inFlight: number) => {
  const measured = rounds.get(inFlight) ?? [];
  return {
    ratio: median(measured.map((round) => round.ours.perSecond / round.union.perSecond)),
    ours: median(measured.map((round) => round.ours.perSecond)),
    union: median(measured.map((round) => round.union.perSecond)),
    p99Ms: median(measured.map((round) => round.ours.p99Ms)),
  };
};
const per = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`;
report(
  'budget',
  [
    ...IN_FLIGHT.map((inFlight) => {
      const { ratio, ours: rate, union: peer } = at(inFlight);
      const goal = inFlight === 32 ? '≥ 1.5×' : '';
      return {
        what: `questions, ${inFlight} in flight`,
        measured: `${ratio.toFixed(2)}× (${per(rate)}, union ${per(peer)})`,
        goal,
        met: !goal || ratio >= 1.5,
      };
    }),
    {
      what: 'p99 of a question, 1 in flight',
      measured: `${at(1).p99Ms.toFixed(3)} ms`,
      goal: '< 0.3 ms',
      met: at(1).p99Ms < 0.3,
    },
  ],
  Object.fromEntries(rounds),
);

interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
}

async function measure(ask: () => Promise<unknown>, inFlight: number): Promise<Measured> {
  const took: number[] = [];
  const startedAt = performance.now();
  const asker = async () => {
    while (took.length < QUESTIONS) {
      const askedAt = performance.now();
      await ask();
      took.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, asker));
  const seconds = (performance.now() - startedAt) / 1_000;
  took.sort((a, b) => a - b);
  return { perSecond: took.length / seconds, p99Ms: took[Math.floor(took.length * 0.99)] ?? 0 };
}

/** Neither a limit nor a boundary within the run: every question is a grant. */
function endless(policy: VendorPolicy): VendorPolicy {
  const counters = policy.counters.map((counter) => ({
    ...counter,
    limit: NEVER_FULL,
    seconds: 40_000_000_000,
  }));
  return { ...policy, counters };
}
