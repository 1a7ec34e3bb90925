import { hash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { v5 as uuidV5 } from 'uuid';
import {
  AppError,
  checkBody,
  Clock,
  DependencyUnavailable,
  EventBus,
  inSpan,
  InvalidInput,
  LOGGER,
  type Logger,
  REQUEST_ID,
} from '#platform';
import {
  sleepIngestBody,
  type SleepIngestBody,
  type SleepRawReceived,
  sleepRawReceived,
} from '../contract/sleep-raw-received.js';
import { latestNight } from '../contract/calendar-date.js';

// UUID namespace: the same key with the same body always gives the same event id, so a second attempt is answered with the first id.
const KEYED_EVENTS = '8a0f1f0e-51ce-4a9a-9a55-0a2a5a5d9e10';
// Visible ASCII.
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** NATS has not confirmed the event. The contract requires 500 here; other routes answer 503. */
class SleepNotKept extends AppError {
  override readonly code = 'SLEEP_NOT_KEPT';
  override readonly kind = 'failed';
  override readonly retryAfterSeconds = 5;
  constructor(options: ErrorOptions) {
    super('The event could not be stored: send it again', options);
  }
}

/** The same key was sent with another body. */
export class IdempotencyKeyReused extends AppError {
  override readonly code = 'IDEMPOTENCY_KEY_REUSED';
  override readonly kind = 'conflict';
  override readonly details = ['Idempotency-Key: was sent before with another body'];
  constructor() {
    super('Another event was sent with this Idempotency-Key');
  }
}

/** An Idempotency-Key, and the ingest key of the client that chose it: two clients may choose the same key. */
interface Idempotency {
  readonly key: string;
  readonly ingestKey: string;
}

/** A checked body, the time of its arrival, and the headers of its event. */
interface Received {
  readonly sent: SleepIngestBody;
  readonly nowMs: number;
  readonly carried: Readonly<Record<string, string>>;
}

/** Publishes a night that a client sends. When `accept` returns, the event is in the stream, but not yet in Postgres. */
@Injectable()
export class SleepIngest {
  constructor(
    private readonly bus: EventBus,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Returns the event's id. Throws SleepNotKept while NATS is away, InvalidInput, IdempotencyKeyReused.
   *
   * `requestId` is sent with the event, so that the log line of the stored night has it, too.
   */
  async accept(body: unknown, idempotency?: Idempotency, requestId?: string): Promise<string> {
    const nowMs = this.clock.nowMs();
    const sent = checkBody(sleepIngestBody, body);
    if (sent.date > latestNight(nowMs)) throw new InvalidInput(['date: Later than tomorrow']);
    if (idempotency && !IDEMPOTENCY_KEY.test(idempotency.key))
      throw new InvalidInput(['Idempotency-Key: must be 1 to 255 visible ASCII characters']);
    try {
      const carried: Record<string, string> = requestId ? { [REQUEST_ID]: requestId } : {};
      return await this.publish({ sent, nowMs, carried }, idempotency && keyedMessageId(idempotency, sent));
    } catch (cause) {
      if (cause instanceof DependencyUnavailable) throw new SleepNotKept({ cause });
      throw cause;
    }
  }

  private async publish(received: Received, keyedId?: string): Promise<string> {
    const { sent, nowMs, carried } = received;
    const eventId = keyedId === undefined ? randomUUID() : keyedEventId(keyedId, sent);
    const event = { eventId, ...captured(sent, nowMs) };
    const messageId = keyedId ?? eventId;
    this.logger.debug({ subject: sleepRawReceived.name, event_id: eventId }, 'publishing sleep');
    const acknowledged = await inSpan('ingest.sleep.publish', 'PRODUCER', () =>
      this.bus.publish(sleepRawReceived, event, messageId, carried),
    );
    if (!acknowledged.duplicate) return eventId;
    const first = await this.bus.stored(sleepRawReceived, acknowledged);
    // A deletion has erased the first event, but the stream still drops its message id. So the night gets a new message id.
    if (!first) return this.publish(received, `${messageId}:after:${acknowledged.seq}`);
    // Without this check a reused key would drop another night silently.
    if (!isSameNight(first.payload, sent)) throw new IdempotencyKeyReused();
    return first.eventId;
  }
}

function captured(sent: SleepIngestBody, nowMs: number): Omit<SleepRawReceived, 'eventId'> {
  if (sent.capturedAt !== undefined) return { payload: sent };
  return { payload: { ...sent, capturedAt: new Date(nowMs).toISOString() }, capturedOnReceipt: true };
}

/** Message ids are unique in the stream, so ingest key and user are part of the id. The id is hashed: an ingest key is a secret. */
function keyedMessageId({ key, ingestKey }: Idempotency, { userId }: SleepIngestBody): string {
  return `ingest:${hash('sha256', JSON.stringify([ingestKey, userId, key]), 'base64url')}`;
}

/** The body is part of the id: after the stream has forgotten the key, another body under this key must get another id. */
function keyedEventId(messageId: string, sent: SleepIngestBody): string {
  return uuidV5(`${messageId}\n${JSON.stringify(sent)}`, KEYED_EVENTS);
}

function isSameNight({ capturedAt, ...stored }: SleepIngestBody, sent: SleepIngestBody): boolean {
  const { capturedAt: sentAt, ...again } = sent;
  return isDeepStrictEqual(stored, again) && (sentAt === undefined || sentAt === capturedAt);
}
