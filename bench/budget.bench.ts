import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { createLogger, Database, migrateUp, poolOf, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget, type VendorPolicy } from '#rate-limit';
import { VENDORS } from '#vendors';
import { bottleneckOf } from './bottleneck.js';
import { report, roundsOr, verify } from './harness.js';
import { type Measured, measure } from './in-flight.js';
import { compare, figure, type Finding, type Goal } from './results.js';

// Compares one request for a permit (four counters, reserve, boundary, state, closed windows) with libraries that limit two windows over
// several processes. All run in turn on the same Redis. Each requester sends its next request as soon as its last request is answered.
//
// The budget sends all requests of one turn of the event loop to Redis in one script call. The script decides on each request, and
// charges all four counters or none. rate-limiter-flexible's union charges two counters with one script call each, not atomically. It is
// measured twice: as its documentation configures it, and with ioredis' auto-pipelining, which sends the commands of one turn together.
// Bottleneck chains two limiters. In the last row no two requests are made in the same turn, so batching gains nothing.
const ROUNDS = roundsOr(5);
const QUESTIONS = 20_000;
// Bottleneck makes some 1,000 a second.
const QUESTIONS_OF_BOTTLENECK = 2_000;
const IN_FLIGHT = [1, 32, 256];
const NEVER_FULL = 1_000_000_000;

const databaseUrl = process.env.DATABASE_URL ?? '';
const redisUrl = process.env.REDIS_URL ?? '';
await migrateUp(databaseUrl);
const dataSource = await new DataSource({ type: 'postgres', url: databaseUrl }).initialize();
const logger = createLogger({ level: 'warn', process: 'bench' });

const ours = budgetConnection({ url: redisUrl, keyPrefix: '' }, logger);
const theirs = new Redis(redisUrl);
const theirsPipelined = new Redis(redisUrl, { enableAutoPipelining: true });
await once(ours, 'ready');
const budget = new VendorBudget(
  endless(VENDORS.strava.limits),
  ours,
  new Ledger(new Database(poolOf(dataSource)), 'strava'),
  timeScale(1),
  logger,
);
const bottleneck = await bottleneckOf(redisUrl, NEVER_FULL);

interface Contender {
  readonly ask: () => Promise<unknown>;
  readonly questions: number;
  /** The permits given so far, by each counter. */
  readonly given: () => Promise<readonly number[]>;
}

const contenders: Readonly<Record<string, Contender>> = {
  pacekeeper: {
    ask: () => budget.charge({ class: 'import', endpoint: 'activity', userId: null }),
    questions: QUESTIONS,
    given: async () => (await budget.gauges()).map(({ used }) => used),
  },
  'rate-limiter-flexible': unionOn(theirs),
  'rate-limiter-flexible, pipelined': unionOn(theirsPipelined),
  ...(bottleneck && {
    bottleneck: {
      ask: () => bottleneck.consume(),
      questions: QUESTIONS_OF_BOTTLENECK,
      given: () => bottleneck.given(),
    },
  }),
};
type Round = Readonly<Record<string, Measured>>;

for (const contender of Object.values(contenders)) await measured(contender, 32);
const rounds: Record<string, Round[]> = {};
for (const inFlight of IN_FLIGHT)
  rounds[`${inFlight} in flight`] = await interleaved(contenders, (contender) =>
    measured(contender, inFlight),
  );
const { pacekeeper, 'rate-limiter-flexible': union } = contenders as Record<string, Contender>;
const both = { pacekeeper: scattered(pacekeeper), 'rate-limiter-flexible': scattered(union) };
rounds['32 in flight, each asked in a turn of its own'] = await interleaved(both, (contender) =>
  measured(contender, 32),
);
await bottleneck?.close();
ours.disconnect();
theirs.disconnect();
theirsPipelined.disconnect();
await dataSource.destroy();

const GOALS: Readonly<Record<string, Goal>> = {
  '1 in flight': { atLeast: 1 },
  '32 in flight': { atLeast: 1.5 },
};
await report({
  name: 'budget',
  peers: ['rate-limiter-flexible', 'ioredis', 'bottleneck'],
  findings: [
    ...Object.entries(rounds).flatMap(([where, measuredRounds]) => comparisonsOf(where, measuredRounds)),
    figure({
      what: 'p99 of a request for a permit, 1 in flight',
      values: (rounds['1 in flight'] ?? []).map((round) => round.pacekeeper?.p99Ms ?? NaN),
      unit: 'ms',
      goal: { atMost: 0.3 },
    }),
  ],
  raw: rounds,
});

/** Each round measures all contenders, one after the other. The order rotates, since the first of a round finds the machine at rest. */
async function interleaved(
  all: Readonly<Record<string, Contender>>,
  one: (contender: Contender) => Promise<Measured>,
): Promise<Round[]> {
  const made: Round[] = [];
  const entries = Object.entries(all);
  for (let round = 0; round < ROUNDS; round += 1) {
    const results: Record<string, Measured> = {};
    for (let n = 0; n < entries.length; n += 1) {
      const [name, contender] = entries[(n + round) % entries.length] as [string, Contender];
      results[name] = await one(contender);
    }
    made.push(results);
  }
  return made;
}

/** Every counter must rise by exactly the permits that were given. */
async function measured({ ask, questions, given }: Contender, inFlight: number): Promise<Measured> {
  const before = await given().catch(() => []);
  const result = await measure(ask, { questions, inFlight });
  for (const [counter, count] of (await given()).entries())
    verify('permits in each counter', count - (before[counter] ?? 0), result.count);
  return result;
}

function comparisonsOf(where: string, measuredRounds: readonly Round[]): Finding[] {
  const rates = (name: string) => measuredRounds.map((round) => round[name]?.perSecond ?? NaN);
  return Object.keys(measuredRounds[0] ?? {})
    .filter((name) => name !== 'pacekeeper')
    .map((peer) => {
      const goal = peer.startsWith('rate-limiter-flexible') ? GOALS[where] : undefined;
      return compare({
        what: `permits, ${where}`,
        peer,
        ours: rates('pacekeeper'),
        theirs: rates(peer),
        unit: '/s',
        ...(goal && { goal }),
      });
    });
}

function unionOn(storeClient: Redis): Contender {
  const windows = [900, 86_400].map(
    (duration) =>
      new RateLimiterRedis({ storeClient, keyPrefix: randomUUID(), points: NEVER_FULL, duration }),
  ) as [RateLimiterRedis, RateLimiterRedis];
  const union = new RateLimiterUnion(...windows);
  return {
    ask: () => union.consume('strava'),
    questions: QUESTIONS,
    given: async () => {
      const states = await Promise.all(windows.map((window) => window.get('strava')));
      return states.map((state) => state?.consumedPoints ?? 0);
    },
  };
}

function scattered(contender: Contender | undefined): Contender {
  if (!contender) throw new Error('there is no such contender');
  let last = Promise.resolve();
  return { ...contender, ask: () => (last = last.then(() => setImmediate())).then(contender.ask) };
}

/** A policy with such large limits and windows that every request of the run gets a permit. */
function endless(policy: VendorPolicy): VendorPolicy {
  const counters = policy.counters.map((counter) => ({
    ...counter,
    limit: NEVER_FULL,
    seconds: 40_000_000_000,
  }));
  return { ...policy, counters };
}
