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
import { type Link, watchLink } from './connect.js';
import { type Delivery, TrackedMessage } from './delivery.js';
import { type ConsumerDefinition, ensureConsumer } from './ensure.js';
import { ignoreAbort, OutageHold } from './outage-hold.js';
import { decodeOrMalformed, type Subject } from './subject.js';

export interface Consumption<T> {
  readonly stream: string;
  readonly consumer: ConsumerDefinition;
  readonly subject: Subject<T>;
  readonly batchSize: number;
  readonly expiresMs: number;
  /** How many batches are handled at a time; one by default. */
  readonly lanes?: number;
  /**
   * Settles every message of the batch (ack, nak with a delay, term). NATS redelivers a message that stays unsettled. If `handle` throws
   * DependencyUnavailable, it gets the unsettled messages again later. This repeat uses up no delivery.
   */
  handle(batch: ReadonlyArray<Delivery<T>>): Promise<void>;
  /** Decides when messages are pulled, and is called again whenever it resolves. Absent: they are always pulled. */
  turns?(turn: Turn): Promise<void>;
}

interface Turn {
  /** True if the durable has messages that are not settled, also if another worker has them. */
  hasMessages(): Promise<boolean>;
  /** Pulls once and handles the messages. Returns their number. */
  take(): Promise<number>;
  readonly stopping: AbortSignal;
}

const PAUSE_AFTER_FAILURE_MS = 500;
// If NATS sends neither a message nor a heartbeat for this long after a pull should have ended, the consumer or the link is gone.
const SILENCE_MS = 15_000;
const CHECK_MS = 1_000;
const SERVER_ACK_WAIT_MS = 30_000;
// A pull ends when two heartbeats are missing. The leader of a consumer may vanish and send no end of the pull.
const HEARTBEAT_MS = 1_000;
// A consumer without a leader answers nothing, and an election takes some seconds.
const REQUEST_TIMEOUT_MS = 1_500;
// Limits the memory of a batch, because a batch is held in several forms at a time. A batch of small messages reaches `batchSize` first.
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Pulls messages from a durable consumer and handles them in batches, until it is stopped. After the server restarts, or after the durable
 * consumer is deleted, it binds again.
 *
 * Messages that arrive while a batch is handled form the next batch. So batches are small under little load and full under much load. While
 * a full batch waits, nothing is pulled. So every message that NATS counts as delivered is in `waiting` or `handling`, and its ack_wait is
 * extended.
 *
 * While a server that the handler needs is away, `OutageHold` keeps the batch, and nothing is pulled. So an outage of any length uses up no
 * delivery.
 *
 * If the connection to NATS is down for longer than `ack_wait`, or the process is killed, each held message uses up one delivery.
 */
export class BatchConsumer<T> {
  private readonly stopping = new AbortController();
  private readonly waiting: JsMsg[] = [];
  private waitingBytes = 0;
  private readonly handling = new Set<JsMsg>();
  private readonly arrivals = new Signal();
  private readonly capacity = new Signal();
  private readonly idleness = new Signal();
  private isPulling = false;
  private mustBeIdle = false;
  private running: Promise<void> | undefined;
  private lastActivityAtMs = performance.now();
  private readonly outages: OutageHold<T>;
  private readonly link: Link;
  private pulled: ConsumerMessages | undefined;

  constructor(
    private readonly connection: NatsConnection,
    private readonly consumption: Consumption<T>,
    private readonly logger: Logger,
  ) {
    this.outages = new OutageHold({
      durable: consumption.consumer.durable_name,
      logger,
      stopping: this.stopping.signal,
      onRelease: () => this.pullAgain(),
    });
    // The server forgets the pull with the connection. Without this, the client would repeat the pull on its own, but only every 5 s while
    // the consumer has no leader.
    this.link = watchLink(connection, () => void this.pulled?.close());
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Stops pulling, and resolves once the messages that have arrived are handled. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.capacity.end();
    this.idleness.end();
    await this.running;
  }

  /**
   * Runs `work` while this consumer holds no message, so that a crash of `work` uses up no delivery of its messages. The present pull ends
   * first, and the messages that have arrived are handled. Does nothing if the consumer is stopped before.
   */
  async whileIdle(work: () => Promise<void>): Promise<void> {
    this.mustBeIdle = true;
    try {
      while ((this.isPulling || this.isHandling) && !this.isStopping) await this.idleness.wait();
      if (!this.isStopping) await work();
    } finally {
      this.mustBeIdle = false;
      this.pullAgain();
    }
  }

  /** Readiness probe. Throws if NATS has sent nothing for the length of a pull and 15 s more. */
  assertAlive(): void {
    if (this.isSilent) throw new Error(`NATS has sent nothing for ${Math.round(this.silentMs / 1_000)} s`);
  }

  private async run(): Promise<void> {
    const ackWaitMs = millis(this.consumption.consumer.ack_wait ?? 0) || SERVER_ACK_WAIT_MS;
    const heartbeat = setInterval(() => this.requestMoreTime(), ackWaitMs / 3);
    try {
      const lanes = Array.from({ length: this.consumption.lanes ?? 1 }, () => this.handleArrivals());
      await this.pullUntilStopped();
      this.arrivals.end();
      await Promise.all(lanes);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Extends ack_wait. Otherwise NATS would deliver a message to another worker while this worker still handles the message. */
  private requestMoreTime(): void {
    for (const message of this.waiting) message.working();
    for (const message of this.handling) message.working();
  }

  private async pullUntilStopped(): Promise<void> {
    while (!this.isStopping) {
      try {
        const consumer = await this.bind();
        while (!this.isStopping) await this.takeTurn(consumer);
      } catch (err) {
        this.logger.warn(
          { err, durable: this.consumption.consumer.durable_name },
          'NATS consumer lost, binding again',
        );
        do
          await pause(PAUSE_AFTER_FAILURE_MS, undefined, { signal: this.stopping.signal }).catch(ignoreAbort);
        while (!this.link.isUp() && !this.isStopping);
      }
    }
  }

  private async takeTurn(consumer: Consumer): Promise<void> {
    const { consumption } = this;
    if (!consumption.turns) return void (await this.pull(consumer));
    const take = async () => {
      this.lastActivityAtMs = performance.now();
      const received = await this.pull(consumer);
      while (this.isHandling && !this.isStopping) await this.idleness.wait();
      return received;
    };
    const hasMessages = async () => {
      const { num_pending, num_ack_pending } = await consumer.info();
      return num_pending + num_ack_pending > 0;
    };
    await consumption.turns({ hasMessages, take, stopping: this.stopping.signal });
  }

  /** Receives up to one batch, until the pull expires. Returns the number of messages. */
  private async pull(consumer: Consumer): Promise<number> {
    while (this.isPaused && !this.isStopping) await this.capacity.wait();
    if (this.isStopping) return 0;
    this.isPulling = true;
    try {
      return await this.receiveBatch(consumer);
    } finally {
      this.isPulling = false;
      this.idleness.notify();
    }
  }

  private async receiveBatch(consumer: Consumer): Promise<number> {
    const { batchSize, expiresMs } = this.consumption;
    const pulled = await consumer.fetch({
      max_messages: batchSize,
      expires: expiresMs,
      idle_heartbeat: Math.min(HEARTBEAT_MS, expiresMs / 2),
    });
    const close = () => void pulled.close();
    this.pulled = pulled;
    this.stopping.signal.addEventListener('abort', close, { once: true });
    const watch = setInterval(() => {
      if (this.isSilent) close();
    }, CHECK_MS);
    this.lastActivityAtMs = performance.now();
    void this.noteActivity(pulled);
    let received = 0;
    try {
      for await (const message of pulled) {
        this.receive(message);
        received += 1;
      }
      if (this.isSilent) throw new Error('NATS has sent nothing');
      if (!this.link.isUp()) throw new Error('NATS is disconnected');
      return received;
    } finally {
      clearInterval(watch);
      this.stopping.signal.removeEventListener('abort', close);
    }
  }

  private get isPaused(): boolean {
    return this.isFull || this.outages.isHolding || this.mustBeIdle;
  }

  private get isHandling(): boolean {
    return this.waiting.length > 0 || this.handling.size > 0;
  }

  private get isFull(): boolean {
    return this.waiting.length >= this.consumption.batchSize || this.waitingBytes >= MOST_BYTES;
  }

  private receive(message: JsMsg): void {
    this.lastActivityAtMs = performance.now();
    this.waiting.push(message);
    this.waitingBytes += message.data.length;
    this.arrivals.notify();
  }

  private pullAgain(): void {
    this.lastActivityAtMs = performance.now();
    this.capacity.notify();
  }

  private async noteActivity(pulled: ConsumerMessages): Promise<void> {
    for await (const { type } of pulled.status())
      if (type !== 'heartbeats_missed') this.lastActivityAtMs = performance.now();
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
    if (this.isFull) this.lastActivityAtMs = performance.now();
    this.waitingBytes -= bytes;
    const batch = this.waiting.splice(0, count);
    this.capacity.notify();
    return batch;
  }

  /** If the handler throws, NATS delivers the unsettled messages again. Pulling goes on. */
  private async handle(messages: readonly JsMsg[]): Promise<void> {
    const { subject, consumer } = this.consumption;
    for (const message of messages) this.handling.add(message);
    const deliveries = messages.map((message) => ({
      message: new TrackedMessage(message),
      content: decodeOrMalformed(subject, message.string()),
    }));
    try {
      await this.outages.handle(deliveries, (part) => this.consumption.handle(part));
    } catch (err) {
      this.logger.error({ err, durable: consumer.durable_name, batch: messages.length }, 'batch failed');
    } finally {
      for (const message of messages) this.handling.delete(message);
      this.idleness.notify();
    }
  }

  private async bind(): Promise<Consumer> {
    const { stream, consumer } = this.consumption;
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    await ensureConsumer(await jetstreamManager(this.connection, options), stream, consumer);
    return jetstream(this.connection, options).consumers.get(stream, consumer.durable_name);
  }

  /** False while pulling is paused or between turns, because silence is normal then. */
  private get isSilent(): boolean {
    const mayPull = !this.isPaused && (this.isPulling || !this.consumption.turns);
    return mayPull && this.silentMs > this.consumption.expiresMs + SILENCE_MS;
  }

  private get silentMs(): number {
    return performance.now() - this.lastActivityAtMs;
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }
}

/** `notify` resolves all pending `wait`s; after `end`, `wait` resolves at once. */
class Signal {
  isEnded = false;
  private readonly waiting: Array<() => void> = [];

  wait(): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  notify(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }

  end(): void {
    this.isEnded = true;
    this.notify();
  }
}
