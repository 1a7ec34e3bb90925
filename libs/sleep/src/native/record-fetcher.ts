import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Asker,
  BudgetSpent,
  CallLater,
  CallRefused,
  Connections,
  NeedsReauth,
  NotConnected,
} from '#connections';
import { OuraClient } from '#oura';
import {
  Database,
  DeadLetters,
  type Delivery,
  LOGGER,
  type Logger,
  MessageMalformed,
  receivedAt,
} from '#platform';
import { WhoopClient } from '#whoop';
import { type NativeVendor, type VendorEvent } from '../contract/vendor-event.js';
import { subjectOf } from '../records/subject-of.js';
import { NativeNights, type Payload } from './native-nights.js';
import { fromOura, fromWhoop, gone } from './sleep-records.js';

export const fetchDurable = (vendor: NativeVendor) => `fetch-${vendor}-sleep-durable`;
export const FETCH_DLQ_PREFIX = 'dlq.fetch.sleep.vendor-event';
export const MOST_FETCHES = 20;

// 5, 10, 20 … seconds up to an hour: twenty deliveries outlast an outage of eleven hours.
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 3_600_000;
const SHORTEST_WAIT_MS = 100;
// The delivery at which a 404 is believed.
const SURE_AFTER = 2;

type Message = Delivery<VendorEvent>['message'];

/** Asks the vendor what has become of a record, and passes the answer on. */
@Injectable()
export class RecordFetcher {
  constructor(
    private readonly connections: Connections,
    private readonly oura: OuraClient,
    private readonly whoop: WhoopClient,
    private readonly database: Database,
    private readonly nights: NativeNights,
    private readonly letters: DeadLetters,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async handle(batch: ReadonlyArray<Delivery<VendorEvent>>, stopping: AbortSignal): Promise<void> {
    await Promise.all(batch.map((delivery) => this.handleOne(delivery, stopping)));
  }

  private async handleOne({ message, content }: Delivery<VendorEvent>, stopping: AbortSignal): Promise<void> {
    if (content instanceof MessageMalformed) return this.bury(message, 'schema-invalid', content.message);
    try {
      await this.patiently(() => this.fetch(message, content), stopping);
      message.ack();
    } catch (error) {
      if (stopping.aborted) message.nak();
      else await this.afterFailure(message, error);
    }
  }

  /** A spent budget is no failure, and a delivery is not wasted on it: what comes after has to wait as well. */
  private async patiently(work: () => Promise<void>, stopping: AbortSignal): Promise<void> {
    for (;;)
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof BudgetSpent)) throw error;
        await pause(Math.max(error.retryAfterMs, SHORTEST_WAIT_MS), undefined, { signal: stopping });
      }
  }

  private async fetch(message: Message, event: VendorEvent): Promise<void> {
    const owner = await this.connections.athleteOf(event.vendor, event.userId);
    const userId = owner && (await subjectOf(this.database, owner.athleteId));
    // Of somebody who has left, or never was here.
    if (!owner || !userId) return;
    const payloads = await this.payloadsOf({ athleteId: owner.athleteId, class: 'live' }, userId, event);
    // A vendor's word may be quicker than its own database.
    if (!event.isDeleted && payloads.some(isGone) && message.info.deliveryCount < SURE_AFTER)
      throw new CallLater(event.vendor, 'it does not know that sleep, or not yet', 0);
    await this.nights.take(payloads, receivedAt(message.headers, storedAt(message)), owner.connectedAt);
  }

  private async payloadsOf(asker: Asker, userId: string, event: VendorEvent): Promise<Payload[]> {
    const { vendor, objectId, about, isDeleted } = event;
    if (about === 'score')
      return isDeleted
        ? []
        : (await this.oura.sleepsScoredBy(asker, objectId)).map((sleep) => fromOura(userId, sleep));
    if (isDeleted) return [gone(userId, event)];
    if (vendor === 'oura') {
      const sleep = await this.oura.sleep(asker, objectId);
      return [sleep ? fromOura(userId, sleep) : gone(userId, event)];
    }
    const sleep = await this.whoop.sleep(asker, objectId);
    return [sleep ? fromWhoop(userId, sleep) : gone(userId, event)];
  }

  private async afterFailure(message: Message, error: unknown): Promise<void> {
    // Nothing can be learnt until they connect again.
    if (error instanceof NeedsReauth || error instanceof NotConnected) return message.ack();
    const { streamSequence: streamSeq, deliveryCount } = message.info;
    this.logger.warn({ err: error, streamSeq }, 'sleep not fetched');
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof CallRefused || error instanceof MessageMalformed)
      return this.bury(message, 'non-retryable', text);
    if (deliveryCount >= MOST_FETCHES) return this.bury(message, 'max-deliver', text);
    const askedMs = error instanceof CallLater ? error.retryAfterMs : 0;
    message.nak(Math.max(askedMs, retryMs(deliveryCount)));
  }

  private async bury(message: Message, reason: string, error: string): Promise<void> {
    const { info, subject, data: bytes, headers } = message;
    const dead = {
      stream: info.stream,
      durable: info.consumer,
      seq: info.streamSequence,
      subject,
      bytes,
      headers,
      receivedAt: storedAt(message),
    };
    try {
      await this.letters.bury(FETCH_DLQ_PREFIX, dead, { reason, error, attempts: info.deliveryCount });
      message.term();
    } catch (err) {
      this.logger.warn({ err, subject }, 'dead letter not kept yet');
      message.nak(retryMs(info.deliveryCount));
    }
  }
}

const isGone = ({ record }: Payload) => record?.state === 'deleted';
const storedAt = ({ info }: Message) => new Date(info.timestampNanos / 1e6);

function retryMs(deliveries: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (deliveries - 1));
}
