import { type BeforeApplicationShutdown, Inject, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { type Config, CONFIG, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { type OutboundCaller } from '#reliability';
import { STRAVA_CALLER, StravaCallerModule } from '../strava.module.js';
import { SubscriptionKeeper, subscriptionPlan } from './subscription-keeper.js';

const KEEPER = Symbol('subscription keeper');

/** For a worker: sees to it that Strava sends its events, where the configuration says whereto. */
@Module({
  imports: [StravaCallerModule],
  providers: [
    {
      provide: KEEPER,
      inject: [CONFIG, STRAVA_CALLER, Database, TIME_SCALE, LOGGER],
      useFactory: keeper,
    },
  ],
})
export class StravaSubscriptionModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(KEEPER) private readonly keeper: SubscriptionKeeper | null) {}

  onApplicationBootstrap(): void {
    this.keeper?.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.keeper?.stop();
  }
}

function keeper(
  config: Config,
  caller: OutboundCaller,
  database: Database,
  scale: TimeScale,
  logger: Logger,
): SubscriptionKeeper | null {
  const plan = subscriptionPlan(config);
  if (plan) return new SubscriptionKeeper(plan, caller, database, scale, logger);
  logger.info('strava is not subscribed to: client, webhook secrets or PUBLIC_URL are not configured');
  return null;
}
