import { type FactoryProvider, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { type Config, CONFIG, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { budgetConnection } from './budget-connection.js';
import { Ledger } from './ledger.js';
import { observeBudget } from './metrics.js';
import { oura, strava, type VendorPolicy, whoop } from './policy.js';
import { VendorBudget } from './vendor-budget.js';

export const STRAVA_BUDGET = Symbol('strava budget');
export const OURA_BUDGET = Symbol('oura budget');
export const WHOOP_BUDGET = Symbol('whoop budget');
const BUDGET_REDIS = Symbol('budget redis');

@Module({
  providers: [
    {
      provide: BUDGET_REDIS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => budgetConnection(config.redis, logger),
    },
    budgetOf(strava, STRAVA_BUDGET),
    budgetOf(oura, OURA_BUDGET),
    budgetOf(whoop, WHOOP_BUDGET),
  ],
  exports: [STRAVA_BUDGET, OURA_BUDGET, WHOOP_BUDGET],
})
export class RateLimitModule implements OnApplicationShutdown {
  constructor(@Inject(BUDGET_REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}

function budgetOf(policy: VendorPolicy, provide: symbol): FactoryProvider<VendorBudget> {
  return {
    provide,
    inject: [BUDGET_REDIS, Database, TIME_SCALE, LOGGER],
    useFactory: (redis: Redis, database: Database, scale: TimeScale, logger: Logger) => {
      const budget = new VendorBudget(policy, redis, new Ledger(database, policy.vendor), scale, logger);
      observeBudget(policy.vendor, budget);
      return budget;
    },
  };
}
