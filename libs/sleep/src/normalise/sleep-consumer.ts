import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { AckPolicy } from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import {
  BatchConsumer,
  type Config,
  CONFIG,
  undeliveredConsumer,
  CORE_STREAM,
  DeadLetters,
  EventBus,
  HealthRegistry,
  LOGGER,
  type Logger,
  NATS,
  observeDeadLetters,
  oldestStoredMs,
} from '#platform';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { countMessages, DLQ_PREFIX, MOST_DELIVERIES, Normaliser, NORMALISE_DURABLE } from './normaliser.js';
import { SleepStore } from './sleep-store.js';

// Batches of 1,000 cost 40 MB more and were not faster.
const BATCH = 500;
const LANES = 2;
const EXPIRES_MS = 5_000;
// After this time the messages of a dead worker go to another worker.
const ACK_WAIT_MS = 10_000;
// Messages that wait for their next attempt count as unsettled too.
const MOST_UNSETTLED = 20_000;

/** Consumes raw nights with `Normaliser`. Any number of workers share the durable; the order of messages is not guaranteed. */
@Injectable()
export class SleepConsumer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly consumers: ReadonlyArray<
    BatchConsumer<SleepRawReceived> | ReturnType<typeof undeliveredConsumer>
  >;

  constructor(
    store: SleepStore,
    bus: EventBus,
    private readonly letters: DeadLetters,
    @Inject(NATS) connection: NatsConnection,
    @Inject(LOGGER) logger: Logger,
    private readonly health: HealthRegistry,
    @Inject(CONFIG) config: Pick<Config, 'nats'>,
  ) {
    const normaliser = new Normaliser(store, bus, letters, logger, oldestStoredMs(config.nats));
    const consumption = {
      stream: CORE_STREAM,
      consumer: {
        durable_name: NORMALISE_DURABLE,
        filter_subject: sleepRawReceived.name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ACK_WAIT_MS),
        max_deliver: MOST_DELIVERIES,
        max_ack_pending: MOST_UNSETTLED,
      },
      subject: sleepRawReceived,
      batchSize: BATCH,
      expiresMs: EXPIRES_MS,
      lanes: LANES,
      handle: normaliser.handle.bind(normaliser),
    };
    const beside = new BatchConsumer<SleepRawReceived>(connection, consumption, logger);
    this.consumers = [
      beside,
      undeliveredConsumer(connection, letters, logger, {
        consumption,
        beside,
        isReady: () => store.isReachable(),
        prefix: DLQ_PREFIX,
        onDeadLetter: (seq) => {
          countMessages('dlq');
          logger.warn(
            { streamSeq: seq, dlqSubject: `${DLQ_PREFIX}.max-deliver` },
            'a sleep message that ends its worker was dead-lettered',
          );
        },
      }),
    ];
  }

  onApplicationBootstrap(): void {
    observeDeadLetters(() => this.letters.countByReason());
    for (const consumer of this.consumers) consumer.start();
    this.health.register('sleep', () => this.consumers.forEach((consumer) => consumer.assertAlive()));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
  }
}
