import { randomUUID } from 'node:crypto';
import { createLogger, type Database, type RedisClient, timeScale } from '#platform';
import { VENDORS } from '#vendors';
import { eventually } from '../../../test/harness/eventually.js';
import { required } from '../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type PermitOutcome, type VendorCall, type Permit } from './permit.js';
import { budgetConnection } from './rate-limit.module.js';
import { Ledger } from './ledger.js';
import { type CallClass, type VendorPolicy } from './policy.js';
import { VendorBudget } from './vendor-budget.js';

const strava = VENDORS.strava.limits;

export const logger = createLogger({ level: 'silent', process: 'test' });
export const CLASSES: readonly CallClass[] = ['live', 'import', 'backfill'];

// Windows last 1,268 years from 1970 on, and days twice as long: no boundary falls into a test.
const ETERNITY_SECONDS = 40_000_000_000;
// A window that began this long ago, and has ended, still began after 1970.
const AGE_SECONDS = 1_000_000_000;

/** Strava's policy, with windows that begin with a request. */
export const begunByRequests: VendorPolicy = {
  ...strava,
  counters: strava.counters.map((counter) => ({ ...counter, alignment: 'first request' })),
};

export function policyWithoutBoundaries(
  limits: Record<'15min' | 'day', number>,
  alignment?: 'epoch' | 'first request',
): VendorPolicy {
  const seconds = alignment === 'first request' ? AGE_SECONDS : ETERNITY_SECONDS;
  const counters = strava.counters.map((counter) => ({
    ...counter,
    seconds: counter.window === 'day' ? 2 * seconds : seconds,
    limit: limits[counter.window as '15min' | 'day'],
    releasedForLastSeconds: 0,
    ...(alignment && { alignment }),
  }));
  return { ...strava, counters };
}

export interface Setting {
  readonly policy?: VendorPolicy;
  readonly scale?: number;
  readonly url?: string;
  readonly prefix?: string;
  readonly commandTimeout?: number;
}

export interface TestWorker {
  readonly budget: VendorBudget;
  readonly redis: RedisClient;
  readonly prefix: string;
}

/** Test workers on one database, each with its own Redis connection. */
export class BudgetWorkers {
  private readonly connections: RedisClient[] = [];

  private constructor(private readonly open: OpenDatabase) {}

  static async begin(): Promise<BudgetWorkers> {
    // A busy machine writes 200,000 rows of the ledger in more than the usual 5 s.
    return new BudgetWorkers(await openTestDatabase([], { statementTimeoutMs: 60_000 }));
  }

  get database() {
    return this.open.database;
  }

  async end(): Promise<void> {
    for (const redis of this.connections) redis.disconnect();
    await this.open.close();
  }

  /** Empties the ledger and forgets all that was learned. */
  async resetLedger(): Promise<void> {
    await this.database.query('truncate strava_api_requests');
    await this.database.query(
      "update vendor_budget_epoch set limits = '{}', vendor_difference_least_ms = default, vendor_difference_most_ms = default",
    );
  }

  async start(setting: Setting = {}): Promise<TestWorker> {
    const {
      policy = policyWithoutBoundaries({ '15min': 100, day: 1_000 }),
      scale = 1,
      url,
      prefix,
      // Long: a busy machine must not fail these tests.
      commandTimeout = 30_000,
    } = setting;
    const keyPrefix = prefix ?? `t:${randomUUID()}:`;
    const config = { url: url ?? required('REDIS_URL'), keyPrefix };
    const redis = budgetConnection(config, logger, { commandTimeout });
    this.connections.push(redis);
    await eventually('the connection', () => redis.status === 'ready');
    const ledger = new Ledger(this.database, 'strava');
    const budget = new VendorBudget(policy, redis, ledger, timeScale(scale), logger);
    return { budget, redis, prefix: keyPrefix };
  }
}

export const call = (callClass: CallClass, more: Partial<VendorCall> = {}): VendorCall => ({
  class: callClass,
  endpoint: 'activity',
  userId: null,
  ...more,
});

export const granted = (answers: readonly PermitOutcome[]): Permit[] =>
  answers.flatMap((answer) => (answer.kind === 'granted' ? [answer.permit] : []));

export const atOnce = <T>(count: number, run: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));

export async function aPermit(budget: VendorBudget, callClass: CallClass = 'live'): Promise<Permit> {
  const [permit] = granted([await budget.requestPermit(call(callClass))]);
  if (!permit) throw new Error('no permit');
  return permit;
}

/** Moves the 15-minute windows of `policyWithoutBoundaries` into the past, in Redis and in the ledger, until they have ended. */
export async function endWindows(database: Database, redis: RedisClient): Promise<void> {
  const agedByMs = AGE_SECONDS * 1_000 + 60_000;
  const [read, readDay, overall, overallDay, ...windows] = (
    (await redis.get('strava:rate:limits')) ?? ''
  ).split(' ');
  const ended = windows.map((window, index) =>
    index % 2 ? window : window.replace(/@(\d+)/, (_, at) => `@${Number(at) - agedByMs}`),
  );
  if (read) await redis.set('strava:rate:limits', [read, readDay, overall, overallDay, ...ended].join(' '));
  const newerThanMs = Date.now() - agedByMs / 2;
  await database.query('update strava_api_requests set window_id = window_id - $1 where window_id > $2', [
    agedByMs,
    Math.floor(newerThanMs),
  ]);
}

export async function forget(redis: RedisClient, prefix: string): Promise<void> {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(keys.map((key) => key.slice(prefix.length)));
}
