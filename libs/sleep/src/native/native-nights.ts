import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock, EventBus, MessageMalformed, RECEIVED_AT, REQUEST_ID } from '#platform';
import { latestNight } from '../contract/calendar-date.js';
import { sleepRawReceived } from '../contract/sleep-raw-received.js';
import { type Payload } from './vendor-records.js';

/** Publishes vendors' records as raw nights. */
@Injectable()
export class NativeNights {
  constructor(
    private readonly bus: EventBus,
    private readonly clock: Clock,
  ) {}

  /**
   * Throws MessageMalformed, and publishes nothing, if the date of one record is too late.
   *
   * `cameAt` counts as the time of receipt. It is taken before the request, so that a deletion during the fetch refuses the record.
   * The id of the request that brought the event goes with the messages.
   */
  async publish(
    payloads: readonly Payload[],
    cameAt: Date,
    connectedAt: string,
    requestId?: string | null,
  ): Promise<void> {
    for (const payload of payloads) this.assertPlausible(payload);
    const carried = {
      [RECEIVED_AT]: cameAt.toISOString(),
      ...(requestId && { [REQUEST_ID]: requestId }),
    };
    await Promise.all(
      payloads.map((payload) => {
        const eventId = eventIdOf(payload, connectedAt);
        return this.bus.publish(sleepRawReceived, { eventId, payload }, eventId, carried);
      }),
    );
  }

  /** The date of a deleted record is the date of its event; it is not checked. */
  private assertPlausible({ date, record }: Payload): void {
    if (record?.state !== 'deleted' && date > latestNight(this.clock.nowMs()))
      throw new MessageMalformed(sleepRawReceived.name, ['payload.date: Later than tomorrow']);
  }
}

/** One id per version of a record and connection: a disconnection deletes all records, and a new connection publishes them again. */
function eventIdOf(payload: Payload, connectedAt: string): string {
  return createHash('sha256')
    .update(`${connectedAt}\n${JSON.stringify(payload)}`)
    .digest('base64url');
}
