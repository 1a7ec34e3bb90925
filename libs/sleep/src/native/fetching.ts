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
import {
  NATIVE_VENDORS,
  type NativeVendor,
  type VendorEvent,
  vendorEvents,
} from '../contract/vendor-event.js';
import { FETCH_DLQ_PREFIX, fetchDurable, MOST_FETCHES, RecordFetcher } from './record-fetcher.js';

// As many calls at once to each vendor; their limits are hundreds a minute.
const BATCH = 8;
const EXPIRES_MS = 5_000;
const ACK_WAIT_MS = 30_000;
const MOST_UNSETTLED = 5_000;
const SUBSCRIPTIONS_EVERY_MS = 5 * 60_000;

/** The worker's part of the native way: events of vendors become documents, and those become nights. */
@Injectable()
export class Fetching implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly consumers: ReadonlyArray<BatchConsumer<VendorEvent> | ReturnType<typeof buryUndelivered>>;

  constructor(
    private readonly fetcher: RecordFetcher,
    private readonly letters: DeadLetters,
    private readonly subscriptions: OuraSubscriptions,
    private readonly sweeps: Sweeps,
    private readonly health: HealthRegistry,
    @Inject(NATS) private readonly connection: NatsConnection,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.consumers = NATIVE_VENDORS.flatMap((vendor) => [this.consumerOf(vendor), this.netBelow(vendor)]);
  }

  onApplicationBootstrap(): void {
    for (const consumer of this.consumers) consumer.start();
    this.health.register('sleep fetching', () =>
      this.consumers.forEach((consumer) => consumer.assertAlive()),
    );
    this.sweeps.every('oura subscriptions', SUBSCRIPTIONS_EVERY_MS, () => this.subscriptions.runOnce());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
  }

  private consumerOf(vendor: NativeVendor): BatchConsumer<VendorEvent> {
    const subject = vendorEvents[vendor];
    const consumption = {
      stream: CORE_STREAM,
      consumer: {
        durable_name: fetchDurable(vendor),
        filter_subject: subject.name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ACK_WAIT_MS),
        max_deliver: MOST_FETCHES,
        max_ack_pending: MOST_UNSETTLED,
      },
      subject,
      batchSize: BATCH,
      expiresMs: EXPIRES_MS,
      handle: (batch: Parameters<RecordFetcher['handle']>[0]) =>
        this.fetcher.handle(batch, this.stopping.signal),
    };
    return new BatchConsumer<VendorEvent>(this.connection, consumption, this.logger);
  }

  private netBelow(vendor: NativeVendor): ReturnType<typeof buryUndelivered> {
    return buryUndelivered(this.connection, this.letters, this.logger, {
      stream: CORE_STREAM,
      durable: fetchDurable(vendor),
      prefix: FETCH_DLQ_PREFIX,
      onBuried: (seq) => this.logger.warn({ streamSeq: seq }, 'undelivered vendor event buried'),
    });
  }
}
