import { setTimeout as pause } from 'node:timers/promises';
import { type Consumer, jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Logger } from '../logging/logger.js';
import { type ConsumerDefinition, ensureConsumer } from './ensure.js';
import { decode, MessageMalformed, type Subject } from './subject.js';

export interface Delivery<T> {
  readonly message: JsMsg;
  readonly content: T | MessageMalformed;
}

export interface Consumption<T> {
  readonly stream: string;
  readonly consumer: ConsumerDefinition;
  readonly subject: Subject<T>;
  readonly batchSize: number;
  readonly expiresMs: number;
  /** Settles every message of the batch (ack, nak with a delay, term). What it leaves alone is redelivered. */
  handle(batch: ReadonlyArray<Delivery<T>>): Promise<void>;
}

const PAUSE_AFTER_FAILURE_MS = 500;
// A pull that neither brings messages nor ends empty for this long means that the consumer has gone deaf.
const SILENCE_MS = 15_000;

/** Pulls batches from a durable consumer until stopped, through restarts of the server and loss of the consumer. */
export class BatchConsumer<T> {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private lastPullAtMs = performance.now();

  constructor(
    private readonly connection: NatsConnection,
    private readonly consumption: Consumption<T>,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.loop();
  }

  /** The batch in hand is finished; nothing new is pulled. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** For the readiness probe. */
  assertAlive(): void {
    const silentMs = performance.now() - this.lastPullAtMs;
    if (silentMs > this.consumption.expiresMs + SILENCE_MS)
      throw new Error(`no pull has ended for ${Math.round(silentMs / 1_000)} s`);
  }

  private async runOnce(consumer: Consumer): Promise<number> {
    const { batchSize, expiresMs, subject } = this.consumption;
    const batch: Array<Delivery<T>> = [];
    const pulled = await consumer.fetch({ max_messages: batchSize, expires: expiresMs });
    const close = () => void pulled.close();
    this.stopping.signal.addEventListener('abort', close, { once: true });
    try {
      for await (const message of pulled) batch.push({ message, content: contentOf(subject, message) });
    } finally {
      this.stopping.signal.removeEventListener('abort', close);
    }
    this.lastPullAtMs = performance.now();
    if (batch.length > 0) await this.handle(batch);
    return batch.length;
  }

  /** A handler that throws leaves its batch to be delivered again; the pull itself is fine. */
  private async handle(batch: ReadonlyArray<Delivery<T>>): Promise<void> {
    try {
      await this.consumption.handle(batch);
    } catch (err) {
      this.logger.error(
        { err, durable: this.consumption.consumer.durable_name, batch: batch.length },
        'batch failed',
      );
    }
  }

  private async loop(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        const consumer = await this.bind();
        while (!this.stopping.signal.aborted) await this.runOnce(consumer);
      } catch (err) {
        this.logger.warn(
          { err, durable: this.consumption.consumer.durable_name },
          'consumer lost, binding again',
        );
        await pause(PAUSE_AFTER_FAILURE_MS, undefined, { signal: this.stopping.signal }).catch(ignoreAbort);
      }
    }
  }

  private async bind(): Promise<Consumer> {
    const { stream, consumer } = this.consumption;
    await ensureConsumer(await jetstreamManager(this.connection), stream, consumer);
    return jetstream(this.connection).consumers.get(stream, consumer.durable_name);
  }
}

function contentOf<T>(subject: Subject<T>, message: JsMsg): T | MessageMalformed {
  try {
    return decode(subject, message.string());
  } catch (error) {
    if (error instanceof MessageMalformed) return error;
    throw error;
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
