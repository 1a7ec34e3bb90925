import { setTimeout as pause } from 'node:timers/promises';
import { createLogger, type Database, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { VENDORS } from '#vendors';
import { windowAt } from '../../libs/rate-limit/src/windows.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { RedisServer } from '../harness/redis-server.js';
import { openPool } from '../harness/test-database.js';

// The guard of real windows, 2 s, is an eighth of a window at most.
const SECONDS = { short: 16, long: 128 };
const WINDOW_MS = SECONDS.short * 1_000;
const LIMITS = { short: 40, long: 300 };
const PAIRS = 3;
// The calls of the first window of a pair are made in its last seconds, and those of the second in its first. Otherwise a clock that is
// wrong would only move all calls by the same time.
const LAST_MS = 12_000;
const FIRST_MS = 10_000;
const WORKERS = 2;
const LANES = 4;
const ASK_AGAIN_MS = 50;
const COMMAND_TIMEOUT_MS = 1_000;

const { limits } = VENDORS.strava;
const policy = {
  ...limits,
  counters: limits.counters.map((counter) => ({
    ...counter,
    seconds: counter.window === 'day' ? SECONDS.long : SECONDS.short,
    limit: counter.window === 'day' ? LIMITS.long : LIMITS.short,
    releasedForLastSeconds: 0,
  })),
};
const logger = createLogger({ level: 'silent', process: 'clocks' });

/** How far the clocks of the servers are ahead of the vendor's. */
export interface Clocks {
  readonly postgres: number;
  readonly redis: number;
}

/** `saysDate`: the vendor's answers have a `Date`, as those of every HTTP server. They never report usage, which would hide a wrong count. */
export interface BudgetCase extends Clocks {
  readonly saysDate: boolean;
}

export interface BudgetResult {
  readonly calls: number;
  readonly windows: number;
  readonly overLimit: number;
  readonly whileRedisWasAway: number;
}

/**
 * Two workers ask a budget for live calls, at real time, over three pairs of windows: they use up the first window of a pair at its end,
 * and the second at its beginning. Redis is frozen at the boundary of the second pair, so that the ledger decides, and killed before that
 * of the third: it comes back empty, and is rebuilt from the ledger. The vendor counts by its own clock.
 */
export async function budgetUnder({ saysDate, ...aheadMs }: BudgetCase): Promise<BudgetResult> {
  const [postgres, redis] = await Promise.all([
    PostgresServer.startAhead(aheadMs.postgres),
    RedisServer.startAhead(aheadMs.redis),
  ]);
  const pool = await openPool(postgres.url);
  await assertClocks(aheadMs, pool.database, redis);
  const clients = Array.from({ length: WORKERS }, () =>
    budgetConnection({ url: redis.url, keyPrefix: 'clocks:' }, logger, {
      commandTimeout: COMMAND_TIMEOUT_MS,
    }),
  );
  const vendor = new CountingVendor(saysDate);
  const stopping = new AbortController();
  try {
    const hammering = clients.flatMap((client) => {
      const budget = new VendorBudget(
        policy,
        client,
        new Ledger(pool.database, 'strava'),
        timeScale(1),
        logger,
      );
      return Array.from({ length: LANES }, () => hammer(budget, vendor, stopping.signal));
    });
    await disturb(redis, vendor);
    stopping.abort();
    await Promise.all(hammering);
    return vendor.result();
  } finally {
    stopping.abort();
    for (const client of clients) client.disconnect();
    await pool.close();
    await Promise.all([postgres.stop(), redis.kill()]);
  }
}

/** Otherwise a library that the servers ignored would let everything pass. */
async function assertClocks(aheadMs: Clocks, database: Database, redis: RedisServer): Promise<void> {
  const [seconds = '0', micros = '0'] = (await redis.command('TIME')) as string[];
  const found = {
    postgres: (await database.now()).getTime() - Date.now(),
    redis: Number(seconds) * 1_000 + Number(micros) / 1_000 - Date.now(),
  };
  for (const server of ['postgres', 'redis'] as const)
    if (Math.abs(found[server] - aheadMs[server]) > 500)
      throw new Error(`the clock of ${server} is ahead by ${found[server]} ms, not by ${aheadMs[server]} ms`);
}

async function hammer(budget: VendorBudget, vendor: CountingVendor, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (isQuiet()) {
      await pause(ASK_AGAIN_MS);
      continue;
    }
    const outcome = await budget.requestPermit({ class: 'live', endpoint: 'activity', userId: null });
    if (outcome.kind !== 'granted') {
      await pause(ASK_AGAIN_MS);
      continue;
    }
    if (!outcome.isFresh()) {
      await outcome.giveBack();
      continue;
    }
    await outcome.settle(vendor.answer());
  }
}

function isQuiet(): boolean {
  const nowMs = Date.now();
  const { id, startsAtMs, endsAtMs } = windowAt(nowMs, SECONDS.short, 1);
  return id % 2 === 0 ? endsAtMs - nowMs > LAST_MS : nowMs - startsAtMs > FIRST_MS;
}

/** One pair without trouble, one with a Redis that is frozen over the boundary, one with a Redis that is killed before it. */
async function disturb(redis: RedisServer, vendor: CountingVendor): Promise<void> {
  const now = windowAt(Date.now(), SECONDS.short, 1);
  const firstPairMs = now.endsAtMs + (now.id % 2 === 0 ? WINDOW_MS : 0);
  const boundaryOf = (pair: number) => firstPairMs + (2 * pair + 1) * WINDOW_MS;
  const until = (atMs: number) => pause(Math.max(0, atMs - Date.now()));
  await until(boundaryOf(1) - 8_000);
  redis.freeze();
  vendor.isRedisAway = true;
  await until(boundaryOf(1) + 14_000);
  redis.thaw();
  vendor.isRedisAway = false;
  await until(boundaryOf(2) - 3_000);
  await redis.kill();
  await redis.start();
  await until(boundaryOf(PAIRS - 1) + WINDOW_MS);
}

/** Counts calls per window by the right clock. */
class CountingVendor {
  isRedisAway = false;
  private calls = 0;
  private whileRedisWasAway = 0;
  private readonly counts = { short: new Map<number, number>(), long: new Map<number, number>() };

  constructor(private readonly saysDate: boolean) {}

  answer(): { status: number; headers: Record<string, string> } {
    this.calls += 1;
    if (this.isRedisAway) this.whileRedisWasAway += 1;
    for (const span of ['short', 'long'] as const) {
      const { id } = windowAt(Date.now(), SECONDS[span], 1);
      this.counts[span].set(id, (this.counts[span].get(id) ?? 0) + 1);
    }
    return { status: 200, headers: this.saysDate ? { date: new Date().toUTCString() } : {} };
  }

  result(): BudgetResult {
    const over = (span: 'short' | 'long') =>
      [...this.counts[span].values()].reduce((sum, count) => sum + Math.max(0, count - LIMITS[span]), 0);
    return {
      calls: this.calls,
      windows: this.counts.short.size,
      overLimit: over('short') + over('long'),
      whileRedisWasAway: this.whileRedisWasAway,
    };
  }
}
