import { randomUUID } from 'node:crypto';
import { jetstream, type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { NatsServer } from './nats-server.js';
import { eventually } from './eventually.js';
import { createTestDatabase, openPool, type TestDatabase } from './test-database.js';
import { HealthRegistry } from '../../libs/platform/src/health/health-registry.js';
import { createLogger, type Logger } from '../../libs/platform/src/logging/logger.js';
import { connectNats, watchLink } from '../../libs/platform/src/nats/connect.js';
import { DeadLetters } from '../../libs/platform/src/nats/dead-letters.js';
import { ensureStream } from '../../libs/platform/src/nats/ensure.js';
import { EventBus } from '../../libs/platform/src/nats/event-bus.js';
import { eventStreams } from '../../libs/platform/src/nats/streams.js';
import { type Database } from '../../libs/platform/src/database/database.js';
import { type SleepRawReceived, sleepRawReceived } from '../../libs/sleep/src/contract/sleep-raw-received.js';
import { NORMALISE_DURABLE } from '../../libs/sleep/src/normalise/normalise-metrics.js';
import { Normalising } from '../../libs/sleep/src/normalise/normalising.js';
import { SleepStore } from '../../libs/sleep/src/normalise/sleep-store.js';

type Payload = SleepRawReceived['payload'];
export const silent = createLogger({ level: 'silent', process: 'test' });

export interface WorkerSurroundings {
  readonly natsUrl?: string;
  readonly databaseUrl?: string;
  readonly logger?: Logger;
}

export interface Worker {
  stop(): Promise<void>;
}

/** The pipeline on a NATS and a database of its own. */
export class SleepWorld {
  private readonly workers: Worker[] = [];

  private constructor(
    readonly nats: NatsServer,
    readonly connection: NatsConnection,
    readonly manager: JetStreamManager,
    readonly databaseOf: TestDatabase,
    readonly database: Database,
    readonly letters: DeadLetters,
    private readonly close: () => Promise<void>,
  ) {}

  static async start(): Promise<SleepWorld> {
    const nats = await NatsServer.start();
    const connection = await connectNats(nats.url, 'test');
    const manager = await jetstreamManager(connection);
    for (const definition of eventStreams({ url: '', dlqRetentionDays: 7 }))
      await ensureStream(manager, definition);
    const databaseOf = await createTestDatabase();
    const pool = await openPool(databaseOf.url);
    const letters = new DeadLetters(connection, watchLink(connection));
    const close = async () => {
      await connection.close();
      await pool.close();
      await databaseOf.drop();
      await nats.stop();
    };
    return new SleepWorld(nats, connection, manager, databaseOf, pool.database, letters, close);
  }

  /** One more that shares the durable. */
  async startWorker({ natsUrl, databaseUrl, logger = silent }: WorkerSurroundings = {}): Promise<Worker> {
    const connection = await connectNats(natsUrl ?? this.nats.url, 'worker');
    const pool = await openPool(databaseUrl ?? this.databaseOf.url);
    const link = watchLink(connection);
    const letters = new DeadLetters(connection, link);
    const normalising = new Normalising(
      new SleepStore(pool.database),
      new EventBus(connection, link),
      letters,
      connection,
      logger,
      new HealthRegistry(),
    );
    normalising.onApplicationBootstrap();
    const worker = {
      stop: async () => {
        await normalising.beforeApplicationShutdown();
        await connection.close();
        await pool.close();
      },
    };
    this.workers.push(worker);
    return worker;
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.stop()));
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    await this.close();
  }

  /** Answers the event's id. */
  async publish(
    payload: Payload,
    eventId: string = randomUUID(),
    messageId: string = eventId,
  ): Promise<string> {
    await this.publishText(JSON.stringify({ eventId, payload }), messageId);
    return eventId;
  }

  async publishText(text: string, messageId: string = randomUUID()): Promise<void> {
    await jetstream(this.connection).publish(sleepRawReceived.name, text, { msgID: messageId });
  }

  /** Until every message that is in the stream has been settled. */
  async settled(deadlineMs?: number): Promise<void> {
    await eventually(
      'all settled',
      async () => {
        const { num_ack_pending, num_pending } = await this.manager.consumers.info(
          'AA_CORE_HOT',
          NORMALISE_DURABLE,
        );
        return num_ack_pending === 0 && num_pending === 0;
      },
      deadlineMs,
    );
  }

  /** Every event on a subject of that stream, oldest first. */
  async events(stream: string, subject: string): Promise<StoredMsg[]> {
    const all: StoredMsg[] = [];
    for (let seq = 1; ;) {
      const next = { seq, next_by_subj: subject };
      const message = await this.manager.streams.getMessage(stream, next).catch(() => null);
      if (!message) return all;
      all.push(message);
      seq = message.seq + 1;
    }
  }

  async rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.query<Row>(text, values)).rows;
  }
}
