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
  buryUndelivered,
  CORE_STREAM,
  DeadLetters,
  EventBus,
  HealthRegistry,
  LOGGER,
  type Logger,
  NATS,
  observeDeadLetters,
} from '#platform';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { countMessages, NORMALISE_DURABLE } from './normalise-metrics.js';
import { DLQ_PREFIX, MOST_DELIVERIES, Normaliser } from './normaliser.js';
import { SleepStore } from './sleep-store.js';

// Twice as many cost 40 MB more and were not faster.
const BATCH = 500;
const LANES = 2;
const EXPIRES_MS = 5_000;
// How long the messages of a worker that died wait for another one.
const ACK_WAIT_MS = 10_000;
// Also counts what waits for its next attempt: during an outage, so many are tried again and the rest stays in the stream.
const MOST_UNSETTLED = 20_000;

/** The worker's part of the pipeline: any number of workers share the durable. */
@Injectable()
export class Normalising implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly consumers: ReadonlyArray<
    BatchConsumer<SleepRawReceived> | ReturnType<typeof buryUndelivered>
  >;

  constructor(
    store: SleepStore,
    bus: EventBus,
    private readonly letters: DeadLetters,
    @Inject(NATS) connection: NatsConnection,
    @Inject(LOGGER) logger: Logger,
    private readonly health: HealthRegistry,
  ) {
    const normaliser = new Normaliser(store, bus, letters, logger);
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
    this.consumers = [
      new BatchConsumer<SleepRawReceived>(connection, consumption, logger),
      buryUndelivered(connection, letters, logger, {
        stream: CORE_STREAM,
        durable: NORMALISE_DURABLE,
        prefix: DLQ_PREFIX,
        onBuried: (seq) => {
          countMessages('dlq');
          logger.warn(
            { streamSeq: seq, dlqSubject: `${DLQ_PREFIX}.max-deliver` },
            'undelivered sleep buried',
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
