import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { createLogger, timeScale } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { required } from '../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type Acquisition, type Call, type Permit } from './acquisition.js';
import { budgetConnection } from './budget-connection.js';
import { Ledger } from './ledger.js';
import { type CallClass, strava, type VendorPolicy } from './policy.js';
import { VendorBudget } from './vendor-budget.js';

export const logger = createLogger({ level: 'silent', process: 'test' });
export const CLASSES: readonly CallClass[] = ['live', 'import', 'backfill'];

// Windows that began in 1970 and end in a thousand years, days in two thousand: what is asserted of them cannot be upset by
// a boundary.
const ETERNITY_SECONDS = 40_000_000_000;

export function eternal(limits: Record<'15min' | 'day', number>): VendorPolicy {
  const counters = strava.counters.map((counter) => ({
    ...counter,
    seconds: counter.window === 'day' ? 2 * ETERNITY_SECONDS : ETERNITY_SECONDS,
    limit: limits[counter.window as '15min' | 'day'],
    releasedForLastSeconds: 0,
  }));
  return { ...strava, counters };
}

export interface Setting {
  readonly policy?: VendorPolicy;
  readonly scale?: number;
  readonly url?: string;
  readonly prefix?: string;
}

export interface TestWorker {
  readonly budget: VendorBudget;
  readonly redis: Redis;
  readonly prefix: string;
}

/** Workers, each with a connection of its own, on one database. */
export class Workers {
  private readonly connections: Redis[] = [];

  private constructor(private readonly open: OpenDatabase) {}

  static async begin(): Promise<Workers> {
    return new Workers(await openTestDatabase());
  }

  get database() {
    return this.open.database;
  }

  async end(): Promise<void> {
    for (const redis of this.connections) redis.disconnect();
    await this.open.close();
  }

  async freshLedger(): Promise<void> {
    await this.database.query('truncate strava_api_requests');
  }

  async start(setting: Setting = {}): Promise<TestWorker> {
    const { policy = eternal({ '15min': 100, day: 1_000 }), scale = 1, url, prefix } = setting;
    const keyPrefix = prefix ?? `t:${randomUUID()}:`;
    const redis = budgetConnection({ url: url ?? required('REDIS_URL'), keyPrefix }, logger);
    // A busy machine is not what is tested here.
    redis.options.commandTimeout = 30_000;
    this.connections.push(redis);
    await eventually('the connection', () => redis.status === 'ready');
    const ledger = new Ledger(this.database, 'strava');
    const budget = new VendorBudget(policy, redis, ledger, timeScale(scale), logger);
    return { budget, redis, prefix: keyPrefix };
  }
}

export const call = (callClass: CallClass, more: Partial<Call> = {}): Call => ({
  class: callClass,
  endpoint: 'activity',
  userId: null,
  ...more,
});

export const granted = (answers: readonly Acquisition[]): Permit[] =>
  answers.flatMap((answer) => (answer.kind === 'granted' ? [answer.permit] : []));

export const atOnce = <T>(count: number, ask: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => ask(n)));

export async function aPermit(budget: VendorBudget, callClass: CallClass = 'live'): Promise<Permit> {
  const [permit] = granted([await budget.acquire(call(callClass))]);
  if (!permit) throw new Error('no permit');
  return permit;
}

export async function forget(redis: Redis, prefix: string): Promise<void> {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(keys.map((key) => key.slice(prefix.length)));
}
