import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { AckPolicy } from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { OuraSubscriptions } from '#oura';
import {
  BatchConsumer,
  buryUndelivered,
  CORE_STREAM,
  DeadLetters,
  HealthRegistry,
  LOGGER,
  type Logger,
  NATS,
  Sweeps,
} from '#platform';
import { type VendorEvent, vendorEvent } from '../contract/vendor-event.js';
import { FETCH_DLQ_PREFIX, FETCH_DURABLE, MOST_FETCHES, RecordFetcher } from './record-fetcher.js';

// As many calls at once; the vendors' limits are hundreds a minute.
const BATCH = 8;
const EXPIRES_MS = 5_000;
const ACK_WAIT_MS = 30_000;
const MOST_UNSETTLED = 5_000;
const SUBSCRIPTIONS_EVERY_MS = 5 * 60_000;

/** The worker's part of the native way: events of vendors become documents, and those become nights. */
@Injectable()
export class Fetching implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly consumers: ReadonlyArray<BatchConsumer<VendorEvent> | ReturnType<typeof buryUndelivered>>;

  constructor(
    fetcher: RecordFetcher,
    letters: DeadLetters,
    private readonly subscriptions: OuraSubscriptions,
    private readonly sweeps: Sweeps,
    private readonly health: HealthRegistry,
    @Inject(NATS) connection: NatsConnection,
    @Inject(LOGGER) logger: Logger,
  ) {
    const consumption = {
      stream: CORE_STREAM,
      consumer: {
        durable_name: FETCH_DURABLE,
        filter_subject: vendorEvent.name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ACK_WAIT_MS),
        max_deliver: MOST_FETCHES,
        max_ack_pending: MOST_UNSETTLED,
      },
      subject: vendorEvent,
      batchSize: BATCH,
      expiresMs: EXPIRES_MS,
      handle: fetcher.handle.bind(fetcher),
    };
    this.consumers = [
      new BatchConsumer<VendorEvent>(connection, consumption, logger),
      buryUndelivered(connection, letters, logger, {
        stream: CORE_STREAM,
        durable: FETCH_DURABLE,
        prefix: FETCH_DLQ_PREFIX,
        onBuried: (seq) => logger.warn({ streamSeq: seq }, 'undelivered vendor event buried'),
      }),
    ];
  }

  onApplicationBootstrap(): void {
    for (const consumer of this.consumers) consumer.start();
    this.health.register('sleep fetching', () =>
      this.consumers.forEach((consumer) => consumer.assertAlive()),
    );
    this.sweeps.every('oura subscriptions', SUBSCRIPTIONS_EVERY_MS, () => this.subscriptions.runOnce());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
  }
}
