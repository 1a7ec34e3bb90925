import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { createLogger, Database, migrateUp, timeScale } from '#platform';
import { budgetConnection, Ledger, stravaPolicy, VendorBudget, type VendorPolicy } from '#rate-limit';
import { median, report } from './harness.js';

// One question to the budget (four counters, reserve, boundary, state, closed windows) against the nearest thing there is:
// rate-limiter-flexible's union of two windows. Both on the same Redis, in turn, asked by as many askers as are in flight,
// each of which asks again when it is answered.
//
// Ours puts the questions of one turn of the event loop to Redis in one script, which decides on each and charges four
// counters or none. The union charges two counters by a script of its own each, and not atomically; once as its
// documentation sets it up, once on a connection that sends the commands of one turn together (ioredis' auto-pipelining),
// which it does not ask for but may be given. In the last row no two questions are asked in the same turn, and nothing is
// gained by putting them together.
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
const theirsPipelined = new Redis(redisUrl, { enableAutoPipelining: true });
await once(ours, 'ready');
const budget = new VendorBudget(
  endless(stravaPolicy),
  ours,
  new Ledger(new Database(dataSource), 'strava'),
  timeScale(1),
  logger,
);
const unionOn = (storeClient: Redis) =>
  new RateLimiterUnion(
    new RateLimiterRedis({ storeClient, keyPrefix: randomUUID(), points: NEVER_FULL, duration: 900 }),
    new RateLimiterRedis({ storeClient, keyPrefix: randomUUID(), points: NEVER_FULL, duration: 86_400 }),
  );
const [union, pipelinedUnion] = [unionOn(theirs), unionOn(theirsPipelined)];
const decide = () => budget.decide({ class: 'import', endpoint: 'activity', userId: null });
const consume = () => union.consume('strava');
const consumePipelined = () => pipelinedUnion.consume('strava');

interface Round {
  readonly ours: Measured;
  readonly union: Measured;
  readonly pipelinedUnion: Measured;
}

await measure(decide, 32);
await measure(consume, 32);
await measure(consumePipelined, 32);
const rounds = new Map<number, Round[]>();
for (const inFlight of IN_FLIGHT) {
  const measured: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    measured.push({
      union: await measure(consume, inFlight),
      pipelinedUnion: await measure(consumePipelined, inFlight),
      ours: await measure(decide, inFlight),
    });
  rounds.set(inFlight, measured);
}
const scattered: Array<Omit<Round, 'pipelinedUnion'>> = [];
for (let round = 0; round < ROUNDS; round += 1)
  scattered.push({
    union: await measure(inOwnTurn(consume), 32),
    ours: await measure(inOwnTurn(decide), 32),
  });
ours.disconnect();
theirs.disconnect();
theirsPipelined.disconnect();
await dataSource.destroy();

const ratioOf = (measured: ReadonlyArray<Pick<Round, 'ours' | 'union'>>) =>
  median(measured.map((round) => round.ours.perSecond / round.union.perSecond));
const at = (inFlight: number) => {
  const measured = rounds.get(inFlight) ?? [];
  return {
    ratio: ratioOf(measured),
    ratioPipelined: median(measured.map((round) => round.ours.perSecond / round.pipelinedUnion.perSecond)),
    ours: median(measured.map((round) => round.ours.perSecond)),
    union: median(measured.map((round) => round.union.perSecond)),
    pipelinedUnion: median(measured.map((round) => round.pipelinedUnion.perSecond)),
    p99Ms: median(measured.map((round) => round.ours.p99Ms)),
    unionP99Ms: median(measured.map((round) => round.union.p99Ms)),
  };
};
const per = (rate: number) => `${Math.round(rate).toLocaleString('en')}/s`;
report(
  'budget',
  [
    ...IN_FLIGHT.flatMap((inFlight) => {
      const { ratio, ratioPipelined, ours: rate, union: peer, pipelinedUnion: pipelined } = at(inFlight);
      const goal = inFlight === 32 ? '≥ 1.5×' : '';
      return [
        {
          what: `questions, ${inFlight} in flight`,
          measured: `${ratio.toFixed(2)}× (${per(rate)}, union ${per(peer)})`,
          goal,
          met: !goal || ratio >= 1.5,
        },
        {
          what: `${inFlight} in flight, the union pipelined`,
          measured: `${ratioPipelined.toFixed(2)}× (union ${per(pipelined)})`,
          goal,
          met: !goal || ratioPipelined >= 1.5,
        },
      ];
    }),
    {
      what: '32 in flight, each asked in a turn of its own',
      measured: `${ratioOf(scattered).toFixed(2)}× (${per(median(scattered.map((round) => round.ours.perSecond)))})`,
      goal: '',
      met: true,
    },
    {
      what: 'p99 of a question, 1 in flight',
      measured: `${at(1).p99Ms.toFixed(3)} ms (union ${at(1).unionP99Ms.toFixed(3)} ms)`,
      goal: '< 0.3 ms',
      met: at(1).p99Ms < 0.3,
    },
  ],
  { ...Object.fromEntries(rounds), scattered },
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

function inOwnTurn(ask: () => Promise<unknown>): () => Promise<unknown> {
  let last = Promise.resolve();
  return () => (last = last.then(() => setImmediate())).then(ask);
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
