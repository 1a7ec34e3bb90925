import { type JsMsg } from '@nats-io/jetstream';
import {
  causeOf,
  CORE_STREAM,
  type DeadLetters,
  type Delivery,
  type EventBus,
  type Logger,
  MessageMalformed,
} from '#platform';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { announcementsOf } from './announcements.js';
import { isRetryable } from './failure.js';
import { facts, type Item, itemOf } from './item.js';
import { newestOfEach } from './newest.js';
import { countMessages, NORMALISE_DURABLE } from './normalise-metrics.js';
import { type SleepStore } from './sleep-store.js';
import { Telling } from './telling.js';

export const DLQ_PREFIX = 'dlq.normalize.sleep.raw-received';
export const MOST_DELIVERIES = 5;

const RETRY_MS = 5_000;

type Reason = 'schema-invalid' | 'non-retryable' | 'max-deliver';

/** Makes nights of what came in: stores them, tells of them, and only then lets the messages go. */
export class Normaliser {
  private readonly telling: Telling;

  constructor(
    private readonly store: Pick<SleepStore, 'save' | 'overtaken'>,
    bus: EventBus,
    private readonly letters: DeadLetters,
    private readonly logger: Logger,
  ) {
    this.telling = new Telling(store, bus);
  }

  async handle(batch: ReadonlyArray<Delivery<SleepRawReceived>>): Promise<void> {
    const items: Item[] = [];
    const malformed: Array<Promise<void>> = [];
    for (const { message, content } of batch)
      if (content instanceof MessageMalformed) malformed.push(this.refuse(message, content));
      else items.push(itemOf(message, content));
    await Promise.all([...malformed, this.work(items)]);
  }

  private async work(items: readonly Item[]): Promise<void> {
    if (items.length === 0) return;
    try {
      await this.storeAndTell(items);
    } catch (error) {
      await this.fail(items, error);
      return;
    }
    for (const { message, trace } of items) {
      message.ack();
      trace.end('ok');
    }
    countMessages('success', items.length);
    if (this.logger.isLevelEnabled('debug'))
      for (const { message } of items) this.logger.debug(facts(message), 'sleep data processed');
  }

  private async storeAndTell(items: readonly Item[]): Promise<void> {
    const sessions = items.map(({ session }) => session);
    const saved = await this.store.save(newestOfEach(sessions));
    const redelivered = new Set(
      items.filter(({ message }) => message.redelivered).map(({ session }) => session.eventId),
    );
    const traces = new Map(items.map(({ session, trace }) => [session.eventId, trace.headers]));
    await this.telling.tell(announcementsOf(saved, sessions, redelivered), traces);
  }

  private async fail(items: readonly Item[], error: unknown): Promise<void> {
    if (isRetryable(error)) return this.retry(items, error);
    const [only] = items;
    if (items.length === 1 && only) return this.give(only, 'non-retryable', error);
    // One of them is to blame: the halves without it go through.
    const middle = Math.ceil(items.length / 2);
    await this.work(items.slice(0, middle));
    await this.work(items.slice(middle));
  }

  private async retry(items: readonly Item[], error: unknown): Promise<void> {
    const [exhausted, others] = [items.filter(isExhausted), items.filter((item) => !isExhausted(item))];
    for (const { message, trace } of others) {
      message.nak(RETRY_MS);
      trace.end('error');
    }
    if (others.length > 0) {
      countMessages('retry', others.length);
      this.logger.warn({ err: error, messages: others.length }, 'sleep not stored, trying again');
    }
    await Promise.all(exhausted.map((item) => this.give(item, 'max-deliver', error)));
  }

  private async give({ message, trace }: Item, reason: Reason, error: unknown): Promise<void> {
    trace.end('error');
    const dlqSubject = `${DLQ_PREFIX}.${reason}`;
    const attempt = message.info.deliveryCount;
    const text = reason === 'max-deliver' ? 'maxDeliver reached, sending to DLQ' : 'sleep cannot be stored';
    this.logger.warn({ ...facts(message), dlqSubject, attempt, err: error }, text);
    if (await this.bury(message, reason, causeOf(error))) countMessages('dlq');
  }

  private async refuse(message: JsMsg, { problems }: MessageMalformed): Promise<void> {
    this.logger.warn({ ...facts(message), errors: problems }, 'sleep validation failed');
    if (await this.bury(message, 'schema-invalid', problems.join('; '))) countMessages('schema_invalid');
  }

  /** False where the dead letter could not be kept: the message comes again, or the server's advisory tells of it. */
  private async bury(message: JsMsg, reason: Reason, error: string): Promise<boolean> {
    const { info, subject, data: bytes, headers } = message;
    const dead = {
      stream: CORE_STREAM,
      durable: NORMALISE_DURABLE,
      seq: info.streamSequence,
      subject,
      bytes,
      headers,
      receivedAt: new Date(info.timestampNanos / 1e6),
    };
    try {
      await this.letters.bury(DLQ_PREFIX, dead, { reason, error, attempts: info.deliveryCount });
    } catch (err) {
      this.logger.warn({ err, ...facts(message) }, 'dead letter not kept yet');
      message.nak(RETRY_MS);
      return false;
    }
    // Without a reason: a server of 2.9 does not understand one, and would deliver the message again.
    message.term();
    return true;
  }
}

const isExhausted = ({ message }: Item) => message.info.deliveryCount >= MOST_DELIVERIES;
