import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { type Config, CONFIG, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { budgetConnection } from './budget-connection.js';
import { Ledger } from './ledger.js';
import { observeBudget } from './metrics.js';
import { strava } from './policy.js';
import { VendorBudget } from './vendor-budget.js';

export const STRAVA_BUDGET = Symbol('strava budget');
const BUDGET_REDIS = Symbol('budget redis');

@Module({
  providers: [
    {
      provide: BUDGET_REDIS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => budgetConnection(config.redis, logger),
    },
    {
      provide: STRAVA_BUDGET,
      inject: [BUDGET_REDIS, Database, TIME_SCALE, LOGGER],
      useFactory: (redis: Redis, database: Database, scale: TimeScale, logger: Logger) => {
        const budget = new VendorBudget(strava, redis, new Ledger(database, strava.vendor), scale, logger);
        observeBudget(strava.vendor, budget);
        return budget;
      },
    },
  ],
  exports: [STRAVA_BUDGET],
})
export class RateLimitModule implements OnApplicationShutdown {
  constructor(@Inject(BUDGET_REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
