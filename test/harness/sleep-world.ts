import { randomUUID } from 'node:crypto';
import { jetstream, type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { NatsServer } from './nats-server.js';
import { eventually } from './eventually.js';
import { undoneOnFailure } from './undo.js';
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
import { NORMALISE_DURABLE } from '../../libs/sleep/src/normalise/normaliser.js';
import { SleepConsumer } from '../../libs/sleep/src/normalise/sleep-consumer.js';
import { SleepStore } from '../../libs/sleep/src/normalise/sleep-store.js';

type Payload = SleepRawReceived['payload'];
export const silent = createLogger({ level: 'silent', process: 'test' });

interface WorkerOptions {
  readonly natsUrl?: string;
  readonly databaseUrl?: string;
  readonly logger?: Logger;
}

interface Worker {
  stop(): Promise<void>;
}

/** The sleep pipeline with its own NATS server and its own database. Its workers run in this process. */
export class SleepWorld {
  private readonly workers: Worker[] = [];

  private constructor(
    readonly nats: NatsServer,
    readonly connection: NatsConnection,
    readonly manager: JetStreamManager,
    readonly testDatabase: TestDatabase,
    readonly database: Database,
    readonly letters: DeadLetters,
    private readonly dlqRetentionDays: number,
    private readonly close: () => Promise<void>,
  ) {}

  /** `databaseUrl`: a migrated database of the caller. By default the world has a clone of the template. */
  static start({
    dlqRetentionDays = 7,
    databaseUrl,
  }: { dlqRetentionDays?: number; databaseUrl?: string } = {}): Promise<SleepWorld> {
    return undoneOnFailure(async (onFailure) => {
      const nats = await NatsServer.start();
      onFailure(() => nats.stop());
      const connection = await connectNats(nats.url, 'test');
      onFailure(() => connection.close());
      const manager = await jetstreamManager(connection);
      for (const definition of eventStreams({ dlqRetentionDays, replicas: 1 }))
        await ensureStream(manager, definition);
      const testDatabase = databaseUrl
        ? { url: databaseUrl, drop: () => Promise.resolve() }
        : await createTestDatabase();
      onFailure(() => testDatabase.drop());
      const pool = await openPool(testDatabase.url);
      const letters = new DeadLetters(connection, watchLink(connection));
      const close = async () => {
        await connection.close();
        await pool.close();
        await testDatabase.drop();
        await nats.stop();
      };
      const servers = [nats, connection, manager, testDatabase, pool.database] as const;
      return new SleepWorld(...servers, letters, dlqRetentionDays, close);
    });
  }

  /** Starts a worker that shares the durable consumer with the others. */
  async startWorker({ natsUrl, databaseUrl, logger = silent }: WorkerOptions = {}): Promise<Worker> {
    const connection = await connectNats(natsUrl ?? this.nats.url, 'worker');
    const pool = await openPool(databaseUrl ?? this.testDatabase.url);
    const link = watchLink(connection);
    const letters = new DeadLetters(connection, link);
    const consumer = new SleepConsumer(
      new SleepStore(pool.database),
      new EventBus(connection, link),
      letters,
      connection,
      logger,
      new HealthRegistry(),
      { nats: { urls: [], replicas: 1, dlqRetentionDays: this.dlqRetentionDays } },
    );
    consumer.onApplicationBootstrap();
    const worker = {
      stop: async () => {
        await consumer.beforeApplicationShutdown();
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

  /** Publishes a raw night and returns the event's id. */
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

  /** The time by the clock of NATS. */
  async natsNow(): Promise<Date> {
    const { seq } = await jetstream(this.connection).publish('athlete-ally.test.now', '');
    const stored = await this.manager.streams.getMessage('AA_CORE_HOT', { seq });
    if (!stored) throw new Error('the stream has lost a message');
    await this.manager.streams.deleteMessage('AA_CORE_HOT', seq);
    return stored.time;
  }

  /** Waits until every message of the stream is acknowledged or dead-lettered. */
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
