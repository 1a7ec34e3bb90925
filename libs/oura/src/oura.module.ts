import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { AthleteCalls, Connections } from '#connections';
import {
  Clock,
  type Config,
  CONFIG,
  Database,
  LOGGER,
  type Logger,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { OURA_BUDGET, RateLimitModule, type VendorBudget } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { OuraClient } from './oura-client.js';
import { OuraSubscriptions } from './oura-subscriptions.js';

const OURA_CALLER = Symbol('calls to oura');
const BOUNDS = { attemptMs: 5_000, totalMs: 8_000 };

@Module({
  imports: [RateLimitModule],
  providers: [
    {
      provide: OURA_CALLER,
      inject: [CONFIG, LOGGER],
      useFactory: ({ oura }: Config, logger: Logger) =>
        new OutboundCaller(BOUNDS, { name: 'oura', hosts: [oura.apiUrl], logger }),
    },
    {
      provide: OuraClient,
      inject: [CONFIG, OURA_CALLER, OURA_BUDGET, Connections],
      useFactory: (
        { oura }: Config,
        caller: OutboundCaller,
        budget: VendorBudget,
        connections: Connections,
      ) => new OuraClient(oura.apiUrl, new AthleteCalls('oura', caller, budget, connections)),
    },
    {
      provide: OuraSubscriptions,
      inject: [CONFIG, OURA_CALLER, Database, Clock, TIME_SCALE, LOGGER],
      useFactory: (
        config: Config,
        caller: OutboundCaller,
        database: Database,
        clock: Clock,
        scale: TimeScale,
        logger: Logger,
      ) => new OuraSubscriptions(config, caller, database, clock, scale, logger),
    },
  ],
  exports: [OuraClient, OuraSubscriptions],
})
export class OuraModule implements OnApplicationShutdown {
  constructor(@Inject(OURA_CALLER) private readonly caller: OutboundCaller) {}

  onApplicationShutdown(): Promise<void> {
    return this.caller.close();
  }
}
