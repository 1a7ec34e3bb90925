import { types } from 'node:util';
import { JetStreamError } from '@nats-io/jetstream';
import { Counter } from 'prom-client';
import {
  ADVISORIES,
  allSettled,
  deadLetterCauseOf,
  CORE_STREAM,
  type DeadLetters,
  type DeliveredMessage,
  type Delivery,
  type DurableName,
  DependencyUnavailable,
  type EventBus,
  type Logger,
  MessageMalformed,
  RECEIVED_AT,
  REQUEST_ID,
  startAtZero,
  undeliveredDurable,
  withoutRedaction,
} from '#platform';
import { NATIVE_VENDORS } from '../contract/native-vendor.js';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { deadLetter, type Refusal, storedAt } from '../dead-letter.js';
import { announcementsOf } from './announcements.js';
import { type Item, itemOf, logFieldsOf } from './item.js';
import { newestOfEach } from './session.js';
import { type Saved, type SleepStore } from './sleep-store.js';
import { NightPublisher } from './night-publisher.js';

export const NORMALISE_DURABLE = 'normalize-sleep-durable';
/** The durable consumers that at least one worker pulls from. */
export const SLEEP_CONSUMERS: readonly DurableName[] = [
  { stream: CORE_STREAM, durable: NORMALISE_DURABLE },
  { stream: ADVISORIES, durable: undeliveredDurable(NORMALISE_DURABLE), isOnDemand: true },
];
export const DLQ_PREFIX = 'dlq.normalize.sleep.raw-received';
export const MOST_DELIVERIES = 5;

const RETRY_MS = 5_000;
const TOO_OLD =
  'received so long ago that it may have been deleted since: deletions of that time are forgotten';

type NormaliseResult = 'success' | 'schema_invalid' | 'retry' | 'dlq';

const messages = new Counter({
  name: 'normalize_sleep_messages_total',
  help: 'Messages of the sleep pipeline by the outcome of their delivery',
  labelNames: ['result', 'subject', 'stream', 'durable'],
});

const LABELS = { subject: sleepRawReceived.name, stream: CORE_STREAM, durable: NORMALISE_DURABLE };
const RESULTS: readonly NormaliseResult[] = ['success', 'schema_invalid', 'retry', 'dlq'];
startAtZero(
  messages,
  RESULTS.map((result) => ({ result, ...LABELS })),
);

const refusedNights = new Counter({
  name: 'sleep_refused_nights_total',
  help: 'Nights that were not stored although their events are valid',
  labelNames: ['source', 'reason'],
});
startAtZero(
  refusedNights,
  ['ingest', ...NATIVE_VENDORS].map((source) => ({ source, reason: 'erased' })),
);

export function countMessages(result: NormaliseResult, count = 1): void {
  messages.inc({ result, ...LABELS }, count);
}

/**
 * Makes nights of raw events. Stores the nights, publishes them, and only then acknowledges the messages. After a crash in between, NATS
 * delivers the messages again. This is harmless: older sessions change nothing, and the same night has the same message id.
 *
 * | the database or NATS         | outcome                                                                               |
 * | ---------------------------- | ------------------------------------------------------------------------------------- |
 * | is away                      | the messages are held until it is back; no delivery is used up                        |
 * | refuses for a passing reason | again every 5 s; a dead letter `max-deliver` at the fifth delivery, 20 s after the first |
 * | refuses a message            | a dead letter `non-retryable` at once; a batch is halved to find the message          |
 */
export class Normaliser {
  private readonly publisher: NightPublisher;
  private readonly lines: Logger;

  constructor(
    private readonly store: Pick<SleepStore, 'save' | 'outdated'>,
    bus: EventBus,
    private readonly letters: DeadLetters,
    private readonly logger: Logger,
    /** Events that were older when the stream stored them are refused: the deletion that would refuse them may be forgotten. */
    private readonly oldestMs = Infinity,
  ) {
    this.publisher = new NightPublisher(store, bus);
    this.lines = withoutRedaction(logger);
  }

  async handle(batch: ReadonlyArray<Delivery<SleepRawReceived>>): Promise<void> {
    const items: Item[] = [];
    const refused: Array<Promise<void>> = [];
    for (const { message, content } of batch) {
      if (content instanceof MessageMalformed) {
        refused.push(this.refuseMalformed(message, content));
        continue;
      }
      const item = itemOf(message, content);
      if (storedAt(message).getTime() - item.session.receivedAtMs <= this.oldestMs) items.push(item);
      else refused.push(this.refuse(item, 'non-retryable', new Error(TOO_OLD)));
    }
    await allSettled([...refused, this.work(items)]);
  }

  private async work(items: readonly Item[]): Promise<void> {
    if (items.length === 0) return;
    try {
      await this.storeAndPublish(items);
    } catch (error) {
      await this.handleFailure(items, error);
      return;
    }
    for (const { message, trace } of items) {
      message.ack();
      trace.end('ok');
      this.lines.info(logFieldsOf(message), 'sleep data processed');
    }
    countMessages('success', items.length);
  }

  private async storeAndPublish(items: readonly Item[]): Promise<void> {
    const sessions = items.map(({ session }) => session);
    const saved = await this.store.save(newestOfEach(sessions));
    this.countErased(saved);
    const redelivered = new Set(
      items.filter(({ message }) => message.redelivered).map(({ session }) => session.eventId),
    );
    const carried = new Map(items.map((item) => [item.session.eventId, carriedBy(item)]));
    await this.publisher.publish(announcementsOf(saved, sessions, redelivered), carried);
  }

  /** The line names no person, because it stays longer than the person's data. */
  private countErased({ erased }: Saved): void {
    if (erased.length === 0) return;
    for (const { source, count } of erased) refusedNights.inc({ source, reason: 'erased' }, count);
    this.logger.info({ erased }, 'nights not stored, because the data of their person or vendor was deleted');
  }

  /** Throws if a server is away. The consumer then holds the messages until that server is back, and uses up no delivery. */
  private async handleFailure(items: readonly Item[], error: unknown): Promise<void> {
    if (error instanceof DependencyUnavailable) {
      for (const { trace } of items) trace.end('error');
      countMessages('retry', items.length);
      throw error;
    }
    if (isRetryable(error)) return this.retry(items, error);
    const [only] = items;
    if (items.length === 1 && only) return this.refuse(only, 'non-retryable', error);
    // The database refuses a message of the batch. Each half is tried, to find that message.
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
    await allSettled(exhausted.map((item) => this.refuse(item, 'max-deliver', error)));
  }

  private async refuse({ message, trace }: Item, reason: Refusal['reason'], error: unknown): Promise<void> {
    trace.end('error');
    const dlqSubject = `${DLQ_PREFIX}.${reason}`;
    const attempt = message.info.deliveryCount;
    const text = reason === 'max-deliver' ? 'maxDeliver reached, sending to DLQ' : 'sleep cannot be stored';
    this.logger.warn({ ...logFieldsOf(message), dlqSubject, attempt, err: error }, text);
    if (await this.deadLetter(message, reason, deadLetterCauseOf(error))) countMessages('dlq');
  }

  private async refuseMalformed(message: DeliveredMessage, { problems }: MessageMalformed): Promise<void> {
    this.logger.warn({ ...logFieldsOf(message), errors: problems }, 'sleep validation failed');
    if (await this.deadLetter(message, 'schema-invalid', problems.join('; ')))
      countMessages('schema_invalid');
  }

  private deadLetter(message: DeliveredMessage, reason: Refusal['reason'], error: string): Promise<boolean> {
    return deadLetter(this.letters, message, {
      prefix: DLQ_PREFIX,
      reason,
      error,
      retryMs: RETRY_MS,
      onNotStored: (err) => this.logger.warn({ err, ...logFieldsOf(message) }, 'dead letter not stored yet'),
    });
  }
}

/** Headers that a message about a night copies from the event that caused it. */
const carriedBy = ({ message, session, trace }: Item) => ({
  ...trace.headers,
  ...requestIdHeader(message),
  [RECEIVED_AT]: new Date(session.receivedAtMs).toISOString(),
});

function requestIdHeader({ headers }: DeliveredMessage): Readonly<Record<string, string>> {
  const id = headers?.get(REQUEST_ID);
  return id ? { [REQUEST_ID]: id } : {};
}

const isExhausted = ({ message }: Item) => message.info.deliveryCount >= MOST_DELIVERIES;

// SQLSTATE classes: 08 connection, 25 transaction state, 40 rollback, 53 resources, 55 object state, 57 shutdown, 58 I/O.
const PASSING_STATES = /^(08|25|40|53|55|57|58)/;
// If an error has no SQLSTATE, these texts mean that a server is away.
const PASSING_TEXTS = /ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EPIPE|timeout|connection/i;

/** True if the same message may succeed later; false if the message itself is the reason. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof DependencyUnavailable || error instanceof JetStreamError) return true;
  if (!types.isNativeError(error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return PASSING_STATES.test(code);
  return PASSING_TEXTS.test(error.message);
}
