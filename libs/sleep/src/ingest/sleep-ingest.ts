import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { type PubAck } from '@nats-io/jetstream';
import { SpanKind } from '@opentelemetry/api';
import { v5 as uuidV5 } from 'uuid';
import {
  Clock,
  DependencyUnavailable,
  EventBus,
  inSpan,
  InvalidInput,
  LOGGER,
  type Logger,
  MessageMalformed,
} from '#platform';
import {
  sleepIngestBody,
  type SleepIngestBody,
  type SleepRawReceived,
  sleepRawReceived,
} from '../contract/sleep-raw-received.js';
import { IdempotencyKeyReused, SleepNotKept } from './ingest.errors.js';

// The same key with the same body names the same event for ever, so that a second attempt is answered with the id of the first.
const KEYED_EVENTS = '8a0f1f0e-51ce-4a9a-9a55-0a2a5a5d9e10';
// Visible ASCII. Ids of our own events begin with a subject: nobody may take one of those.
const IDEMPOTENCY_KEY = /^(?!athlete-ally\.)[\x21-\x7e]{1,255}$/;

/** Takes what a client says about a night. Once it answers, the event is in the stream. */
@Injectable()
export class SleepIngest {
  constructor(
    private readonly bus: EventBus,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** The event's id. */
  async accept(body: unknown, idempotencyKey?: string): Promise<string> {
    const said = parsed(body);
    if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey))
      throw new InvalidInput(['Idempotency-Key: must be 1 to 255 visible ASCII characters']);
    const eventId = idempotencyKey === undefined ? randomUUID() : keyedId(idempotencyKey, said);
    const capturedAt = said.capturedAt ?? new Date(this.clock.nowMs()).toISOString();
    const event = { eventId, payload: { ...said, capturedAt } };
    try {
      return await this.keep(event, said, idempotencyKey ?? eventId);
    } catch (cause) {
      if (cause instanceof DependencyUnavailable) throw new SleepNotKept({ cause });
      throw cause;
    }
  }

  private async keep(event: SleepRawReceived, said: SleepIngestBody, messageId: string): Promise<string> {
    this.logger.debug({ subject: sleepRawReceived.name, event_id: event.eventId }, 'publishing sleep');
    const acknowledged = await inSpan('ingest.sleep.publish', SpanKind.PRODUCER, () =>
      this.bus.publish(sleepRawReceived, event, messageId),
    );
    if (!acknowledged.duplicate) return event.eventId;
    const before = await this.keptBefore(acknowledged);
    // A key that is used for something else would swallow it without a word.
    if (before && !isWhatWasSaid(before.payload, said)) throw new IdempotencyKeyReused();
    return before?.eventId ?? event.eventId;
  }

  /** Undefined where the stream remembers the id, and the event is gone. */
  private async keptBefore(acknowledged: PubAck): Promise<SleepRawReceived | undefined> {
    try {
      return await this.bus.stored(sleepRawReceived, acknowledged);
    } catch (cause) {
      // Another kind of event has that id.
      if (cause instanceof MessageMalformed) throw new IdempotencyKeyReused();
      throw cause;
    }
  }
}

/** With another body it is another event: two of one name would be told apart by nobody once the stream has forgotten the key. */
function keyedId(key: string, said: SleepIngestBody): string {
  return uuidV5(`${key}\n${JSON.stringify(said)}`, KEYED_EVENTS);
}

function isWhatWasSaid({ capturedAt, ...stored }: SleepIngestBody, said: SleepIngestBody): boolean {
  const { capturedAt: saidAt, ...again } = said;
  return isDeepStrictEqual(stored, again) && (saidAt === undefined || saidAt === capturedAt);
}

function parsed(body: unknown): SleepIngestBody {
  const result = sleepIngestBody.safeParse(body);
  if (result.success) return result.data;
  throw new InvalidInput(
    result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
  );
}
