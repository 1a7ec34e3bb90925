import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type RedisOptions } from 'ioredis';
import {
  ClockDifferences,
  type Config,
  CONFIG,
  createRedis,
  Database,
  LOGGER,
  type Logger,
  type RedisClient,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { Budgets } from './budgets.js';
import { Ledger } from './ledger.js';
import { observeBudget, startCounting } from './metrics.js';
import { CallRecords } from './personal-records.js';
import { type VendorPolicy } from './policy.js';
import { VendorBudget } from './vendor-budget.js';
import { VendorShare } from './vendor-share.js';

const BUDGET_REDIS = Symbol('budget redis');

/** Provides the budgets of the given vendors and their shares, on one Redis connection of their own. */
@Module({})
export class RateLimitModule implements OnApplicationShutdown {
  /** Nest makes one instance for each module object, so an app calls this once and shares the result. */
  static for(policies: readonly VendorPolicy[]): DynamicModule {
    return {
      module: RateLimitModule,
      providers: [
        {
          provide: BUDGET_REDIS,
          inject: [CONFIG, LOGGER],
          useFactory: (config: Config, logger: Logger) => budgetConnection(config.redis, logger),
        },
        {
          provide: Budgets,
          inject: [BUDGET_REDIS, Database, TIME_SCALE, LOGGER, ClockDifferences],
          useFactory: (
            redis: RedisClient,
            database: Database,
            scale: TimeScale,
            logger: Logger,
            clocks: ClockDifferences,
          ) => {
            const budgets = budgetsOf(policies, redis, database, scale, logger);
            for (const budget of budgets) clocks.watch(budget.policy.vendor, () => budget.clockRange);
            return new Budgets(budgets, sharesOf(budgets, database, scale));
          },
        },
        CallRecords,
      ],
      exports: [CallRecords, Budgets],
    };
  }

  constructor(@Inject(BUDGET_REDIS) private readonly redis: RedisClient) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}

/**
 * The budget's own Redis connection. It neither queues nor resends commands: a late charge is of no use to its caller, and a refund that is
 * executed twice would free a call that was made.
 */
export function budgetConnection(
  config: Config['redis'],
  logger: Logger,
  options: RedisOptions = {},
): RedisClient {
  return createRedis(config, logger, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    ...options,
  });
}

function budgetsOf(
  policies: readonly VendorPolicy[],
  redis: RedisClient,
  database: Database,
  scale: TimeScale,
  logger: Logger,
): readonly VendorBudget[] {
  const budgets = policies.map(
    (policy) => new VendorBudget(policy, redis, new Ledger(database, policy.vendor), scale, logger),
  );
  for (const budget of budgets) {
    startCounting(budget.policy);
    observeBudget(budget.policy.vendor, budget);
  }
  return budgets;
}

function sharesOf(
  budgets: readonly VendorBudget[],
  database: Database,
  scale: TimeScale,
): readonly VendorShare[] {
  return budgets.flatMap((budget) =>
    Object.keys(budget.policy.shares ?? {}).map(
      (purpose) => new VendorShare(budget.policy, purpose, budget, database, scale),
    ),
  );
}
