import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CallLater, CallRefused, Connections, NeedsReauth, NotConnected } from '#connections';
import { OuraClient } from '#oura';
import {
  Database,
  DeadLetters,
  type Delivery,
  EventBus,
  LOGGER,
  type Logger,
  MessageMalformed,
  receivedAt,
} from '#platform';
import { WhoopClient } from '#whoop';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { type VendorEvent, vendorEvent } from '../contract/vendor-event.js';
import { subjectOf } from '../records/subject-of.js';
import { fromOura, fromWhoop, gone } from './sleep-records.js';

export const FETCH_DURABLE = 'fetch-sleep-durable';
export const FETCH_DLQ_PREFIX = 'dlq.fetch.sleep.vendor-event';
export const MOST_FETCHES = 20;

const RETRY_MS = 30_000;

type Payload = SleepRawReceived['payload'];
type Message = Delivery<VendorEvent>['message'];

/** Asks the vendor what has become of a record, and puts the answer where everybody's nights go. */
@Injectable()
export class RecordFetcher {
  constructor(
    private readonly connections: Connections,
    private readonly oura: OuraClient,
    private readonly whoop: WhoopClient,
    private readonly database: Database,
    private readonly bus: EventBus,
    private readonly letters: DeadLetters,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async handle(batch: ReadonlyArray<Delivery<VendorEvent>>): Promise<void> {
    await Promise.all(batch.map((delivery) => this.handleOne(delivery)));
  }

  private async handleOne({ message, content }: Delivery<VendorEvent>): Promise<void> {
    if (content instanceof MessageMalformed) return this.bury(message, 'schema-invalid', content.message);
    try {
      await this.fetch(message, content);
      message.ack();
    } catch (error) {
      await this.afterFailure(message, error);
    }
  }

  private async fetch(message: Message, event: VendorEvent): Promise<void> {
    const owner = await this.connections.athleteOf(event.vendor, event.userId);
    const userId = owner && (await subjectOf(this.database, owner.athleteId));
    // Of somebody who has left, or never was here.
    if (!owner || !userId) return;
    const payloads = await this.payloadsOf(owner.athleteId, userId, event);
    // What is deleted while it is fetched must not come back: it counts as received when the event was.
    const came = receivedAt(message.headers, new Date(message.info.timestampNanos / 1e6));
    const carried = { 'received-at': came.toISOString() };
    await Promise.all(
      payloads.map((payload) => {
        const eventId = eventIdOf(payload);
        return this.bus.publish(sleepRawReceived, { eventId, payload }, eventId, carried);
      }),
    );
  }

  private async payloadsOf(athleteId: string, userId: string, event: VendorEvent): Promise<Payload[]> {
    const { vendor, objectId, about, isDeleted } = event;
    if (about === 'score')
      return isDeleted
        ? []
        : (await this.oura.sleepsScoredBy(athleteId, objectId)).map((sleep) => fromOura(userId, sleep));
    if (isDeleted) return [gone(userId, event)];
    if (vendor === 'oura') {
      const sleep = await this.oura.sleep(athleteId, objectId);
      return [sleep ? fromOura(userId, sleep) : gone(userId, event)];
    }
    const sleep = await this.whoop.sleep(athleteId, objectId);
    return [sleep ? fromWhoop(userId, sleep) : gone(userId, event)];
  }

  private async afterFailure(message: Message, error: unknown): Promise<void> {
    // Nothing can be learnt until they connect again.
    if (error instanceof NeedsReauth || error instanceof NotConnected) return message.ack();
    this.logger.warn({ err: error, streamSeq: message.info.streamSequence }, 'sleep not fetched');
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof CallRefused) return this.bury(message, 'non-retryable', text);
    if (message.info.deliveryCount >= MOST_FETCHES) return this.bury(message, 'max-deliver', text);
    message.nak(error instanceof CallLater ? Math.max(error.retryAfterMs, 1_000) : RETRY_MS);
  }

  private async bury(message: Message, reason: string, error: string): Promise<void> {
    const { info, subject, data: bytes, headers } = message;
    const dead = {
      stream: info.stream,
      durable: FETCH_DURABLE,
      seq: info.streamSequence,
      subject,
      bytes,
      headers,
      receivedAt: new Date(info.timestampNanos / 1e6),
    };
    try {
      await this.letters.bury(FETCH_DLQ_PREFIX, dead, { reason, error, attempts: info.deliveryCount });
      message.term();
    } catch (err) {
      this.logger.warn({ err, subject: vendorEvent.name }, 'dead letter not kept yet');
      message.nak(RETRY_MS);
    }
  }
}

/** The same for the same word about the same record, whoever fetches it. */
function eventIdOf(payload: Payload): string {
  return createHash('sha256').update(JSON.stringify(payload)).digest('base64url');
}
