import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Config, CONFIG, LOGGER, type Logger } from '#platform';
import { Coalescer, OutboundCaller, ReliabilityModule, SessionGate } from '#reliability';
import { Addon } from './addon/addon.js';
import { type Broker, NO_BROKER } from './broker/broker.js';
import { BrokerClient } from './broker/broker-client.js';
import { CatalogueCache } from './catalogue/catalogue-cache.js';
import { PlaybackGate } from './streams/playback-gate.js';
import { StreamResolver, TOTAL_MS } from './streams/stream-resolver.js';

const BROKER = Symbol('video broker');
const BROKER_CALLER = Symbol('calls to the video broker');
const ATTEMPT_MS = 1_500;
// One connection for each place at the gate: all viewers may start a video at the same time.
const MOST_CONNECTIONS = 256;

/** The Stremio add-on. Without BROKER_URL the catalogue is empty and no video is found. */
@Module({
  imports: [ReliabilityModule],
  providers: [
    PlaybackGate,
    {
      provide: BROKER_CALLER,
      inject: [CONFIG, LOGGER],
      useFactory: ({ broker, gate }: Config, logger: Logger) =>
        broker.url === undefined
          ? undefined
          : new OutboundCaller(
              { attemptMs: ATTEMPT_MS, totalMs: TOTAL_MS },
              {
                name: 'broker',
                hosts: [broker.url],
                logger,
                connections: Math.min(gate.capacity, MOST_CONNECTIONS),
              },
            ),
    },
    {
      provide: BROKER,
      inject: [CONFIG, BROKER_CALLER, LOGGER],
      useFactory: ({ broker }: Config, caller: OutboundCaller | undefined, logger: Logger): Broker =>
        broker.url !== undefined && caller ? new BrokerClient(broker.url, caller, logger) : NO_BROKER,
    },
    {
      provide: Addon,
      inject: [BROKER, SessionGate, Coalescer, LOGGER],
      useFactory: (broker: Broker, gate: SessionGate, coalescer: Coalescer, logger: Logger) => {
        const catalogue = new CatalogueCache(broker);
        return new Addon(catalogue, new StreamResolver(catalogue, gate, coalescer, broker, logger));
      },
    },
  ],
  exports: [Addon, PlaybackGate],
})
export class PlaybackModule implements OnApplicationShutdown {
  constructor(@Inject(BROKER_CALLER) private readonly caller: OutboundCaller | undefined) {}

  async onApplicationShutdown(): Promise<void> {
    await this.caller?.close();
  }
}
