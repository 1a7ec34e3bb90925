import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { AthleteCalls, Connections } from '#connections';
import { type Config, CONFIG, LOGGER, type Logger } from '#platform';
import { RateLimitModule, type VendorBudget, WHOOP_BUDGET } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { readRates } from './rates.js';
import { WhoopClient } from './whoop-client.js';

const WHOOP_CALLER = Symbol('calls to whoop');
const BOUNDS = { attemptMs: 5_000, totalMs: 8_000 };

@Module({
  imports: [RateLimitModule],
  providers: [
    {
      provide: WHOOP_CALLER,
      inject: [CONFIG, LOGGER],
      useFactory: ({ whoop }: Config, logger: Logger) =>
        new OutboundCaller(BOUNDS, { name: 'whoop', hosts: [whoop.apiUrl], logger }),
    },
    {
      provide: WhoopClient,
      inject: [CONFIG, WHOOP_CALLER, WHOOP_BUDGET, Connections],
      useFactory: (
        { whoop }: Config,
        caller: OutboundCaller,
        budget: VendorBudget,
        connections: Connections,
      ) => new WhoopClient(whoop.apiUrl, new AthleteCalls('whoop', caller, budget, connections, readRates)),
    },
  ],
  exports: [WhoopClient],
})
export class WhoopModule implements OnApplicationShutdown {
  constructor(@Inject(WHOOP_CALLER) private readonly caller: OutboundCaller) {}

  onApplicationShutdown(): Promise<void> {
    return this.caller.close();
  }
}
