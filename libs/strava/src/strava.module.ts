import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Connections, NeedsReauth, NotConnected } from '#connections';
import { Clock, type Config, CONFIG, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { RateLimitModule, STRAVA_BUDGET, type VendorBudget } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { type AccessTokens } from './access-tokens.js';
import { ATTEMPT_MS, TOTAL_MS } from './call-limits.js';
import { StravaClient } from './strava-client.js';
import { StravaStreams } from './strava-streams.js';
import { StravaTokenRevoked } from './strava.errors.js';

export const STRAVA_CALLER = Symbol('calls to strava');

/** The connections to Strava, one pool for whatever of a process speaks to it. */
@Module({
  providers: [
    {
      provide: STRAVA_CALLER,
      inject: [CONFIG, LOGGER],
      useFactory: ({ strava }: Config, logger: Logger) =>
        new OutboundCaller(
          { attemptMs: ATTEMPT_MS, totalMs: TOTAL_MS },
          { name: 'strava', hosts: [strava.apiUrl], logger },
        ),
    },
  ],
  exports: [STRAVA_CALLER],
})
export class StravaCallerModule implements OnApplicationShutdown {
  constructor(@Inject(STRAVA_CALLER) private readonly caller: OutboundCaller) {}

  onApplicationShutdown(): Promise<void> {
    return this.caller.close();
  }
}

@Module({
  imports: [StravaCallerModule, RateLimitModule],
  providers: [
    {
      provide: StravaClient,
      inject: [CONFIG, STRAVA_CALLER, STRAVA_BUDGET, Connections, Clock, TIME_SCALE],
      useFactory: (
        { strava }: Config,
        caller: OutboundCaller,
        budget: VendorBudget,
        connections: Connections,
        clock: Clock,
        scale: TimeScale,
      ) => new StravaClient(strava.apiUrl, caller, budget, tokensOf(connections), clock, scale),
    },
    {
      provide: StravaStreams,
      inject: [StravaClient, STRAVA_BUDGET],
      useFactory: (client: StravaClient, budget: VendorBudget) => new StravaStreams(client, budget),
    },
  ],
  exports: [StravaClient, StravaStreams],
})
export class StravaModule {}

function tokensOf(connections: Connections): AccessTokens {
  return {
    access: (athleteId) =>
      connections.access(athleteId, 'strava').catch((cause: unknown) => {
        if (cause instanceof NeedsReauth || cause instanceof NotConnected)
          throw new StravaTokenRevoked(athleteId, { cause });
        throw cause;
      }),
    rejected: (athleteId, token) => connections.rejected(athleteId, 'strava', token),
  };
}
