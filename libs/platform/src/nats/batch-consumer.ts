import { setTimeout as pause } from 'node:timers/promises';
import {
  type Consumer,
  type ConsumerMessages,
  jetstream,
  jetstreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { millis, type NatsConnection } from '@nats-io/transport-node';
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
  /** How many batches are handled at a time; one by default. */
  readonly lanes?: number;
  /** Settles every message of the batch (ack, nak with a delay, term). What it leaves alone is redelivered. */
  handle(batch: ReadonlyArray<Delivery<T>>): Promise<void>;
}

const PAUSE_AFTER_FAILURE_MS = 500;
// A pull that brings neither messages nor heartbeats for this long means that the consumer has gone deaf.
const SILENCE_MS = 15_000;
const LOOK_MS = 1_000;
const SERVER_ACK_WAIT_MS = 30_000;
// A batch is all in memory, in several forms at a time. Of small messages it is the number that counts.
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Pulls from a durable consumer until stopped, through restarts of the server and loss of the consumer. What has arrived
 * while a batch is handled is the next batch: few under little load, so none waits; many under much. No more is asked for while a batch
 * waits: all that the server believes to be with us is in `waiting` or `inHand`, where it can be asked for time.
 */
export class BatchConsumer<T> {
  private readonly stopping = new AbortController();
  private readonly waiting: JsMsg[] = [];
  private waitingBytes = 0;
  private readonly inHand = new Set<JsMsg>();
  private readonly arrivals = new Signal();
  private readonly room = new Signal();
  private running: Promise<void> | undefined;
  private lastSignAtMs = performance.now();

  constructor(
    private readonly connection: NatsConnection,
    private readonly consumption: Consumption<T>,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** What has arrived is finished; nothing new is pulled. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.room.end();
    await this.running;
  }

  /** For the readiness probe. */
  assertAlive(): void {
    if (this.isDeaf) throw new Error(`no sign of the stream for ${Math.round(this.silentMs / 1_000)} s`);
  }

  private async run(): Promise<void> {
    const ackWaitMs = millis(this.consumption.consumer.ack_wait ?? 0) || SERVER_ACK_WAIT_MS;
    const heartbeat = setInterval(() => this.askForTime(), ackWaitMs / 3);
    try {
      const lanes = Array.from({ length: this.consumption.lanes ?? 1 }, () => this.handleArrivals());
      await this.pullUntilStopped();
      this.arrivals.end();
      await Promise.all(lanes);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Otherwise the server would give what is still being worked on to somebody else. */
  private askForTime(): void {
    for (const message of this.waiting) message.working();
    for (const message of this.inHand) message.working();
  }

  private async pullUntilStopped(): Promise<void> {
    while (!this.isStopping) {
      try {
        const consumer = await this.bind();
        while (!this.isStopping) await this.pull(consumer);
      } catch (err) {
        this.logger.warn(
          { err, durable: this.consumption.consumer.durable_name },
          'consumer lost, binding again',
        );
        await pause(PAUSE_AFTER_FAILURE_MS, undefined, { signal: this.stopping.signal }).catch(ignoreAbort);
      }
    }
  }

  /** One batch, or what there is of it until the pull expires. */
  private async pull(consumer: Consumer): Promise<void> {
    while (this.isFull && !this.isStopping) await this.room.wait();
    if (this.isStopping) return;
    const { batchSize, expiresMs } = this.consumption;
    const pulled = await consumer.fetch({ max_messages: batchSize, expires: expiresMs });
    const close = () => void pulled.close();
    this.stopping.signal.addEventListener('abort', close, { once: true });
    const watch = setInterval(() => {
      if (this.isDeaf) close();
    }, LOOK_MS);
    this.lastSignAtMs = performance.now();
    void this.noteSigns(pulled);
    try {
      for await (const message of pulled) this.take(message);
      if (this.isDeaf) throw new Error('no sign of the stream');
    } finally {
      clearInterval(watch);
      this.stopping.signal.removeEventListener('abort', close);
    }
  }

  private get isFull(): boolean {
    return this.waiting.length >= this.consumption.batchSize || this.waitingBytes >= MOST_BYTES;
  }

  private take(message: JsMsg): void {
    this.lastSignAtMs = performance.now();
    this.waiting.push(message);
    this.waitingBytes += message.data.length;
    this.arrivals.give();
  }

  private async noteSigns(pulled: ConsumerMessages): Promise<void> {
    for await (const { type } of pulled.status())
      if (type !== 'heartbeats_missed') this.lastSignAtMs = performance.now();
  }

  private async handleArrivals(): Promise<void> {
    for (;;) {
      const messages = this.nextBatch();
      if (messages.length > 0) await this.handle(messages);
      else if (this.arrivals.isEnded) return;
      else await this.arrivals.wait();
    }
  }

  private nextBatch(): JsMsg[] {
    let bytes = 0;
    let count = 0;
    for (const { data } of this.waiting) {
      if (count >= this.consumption.batchSize || (count > 0 && bytes + data.length > MOST_BYTES)) break;
      bytes += data.length;
      count += 1;
    }
    if (this.isFull) this.lastSignAtMs = performance.now();
    this.waitingBytes -= bytes;
    const batch = this.waiting.splice(0, count);
    this.room.give();
    return batch;
  }

  /** A handler that throws leaves its batch to be delivered again; the pull itself is fine. */
  private async handle(messages: readonly JsMsg[]): Promise<void> {
    const { subject, consumer } = this.consumption;
    for (const message of messages) this.inHand.add(message);
    try {
      await this.consumption.handle(
        messages.map((message) => ({ message, content: contentOf(subject, message) })),
      );
    } catch (err) {
      this.logger.error({ err, durable: consumer.durable_name, batch: messages.length }, 'batch failed');
    } finally {
      for (const message of messages) this.inHand.delete(message);
    }
  }

  private async bind(): Promise<Consumer> {
    const { stream, consumer } = this.consumption;
    await ensureConsumer(await jetstreamManager(this.connection), stream, consumer);
    return jetstream(this.connection).consumers.get(stream, consumer.durable_name);
  }

  /** Whoever has enough and asks for nothing hears nothing, which is no sign of trouble. */
  private get isDeaf(): boolean {
    return !this.isFull && this.silentMs > this.consumption.expiresMs + SILENCE_MS;
  }

  private get silentMs(): number {
    return performance.now() - this.lastSignAtMs;
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }
}

/** Wakes whoever waits for something to have changed. */
class Signal {
  isEnded = false;
  private readonly sleepers: Array<() => void> = [];

  wait(): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    return new Promise((resolve) => this.sleepers.push(resolve));
  }

  give(): void {
    for (const wake of this.sleepers.splice(0)) wake();
  }

  end(): void {
    this.isEnded = true;
    this.give();
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
