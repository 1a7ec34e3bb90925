import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EventBus } from '#platform';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';

export type Payload = SleepRawReceived['payload'];

/** Puts what a vendor says of its records where everybody's nights go. */
@Injectable()
export class NativeNights {
  constructor(private readonly bus: EventBus) {}

  /** `cameAt`: what is deleted while it is fetched must not come back, so it counts as received before it was asked for. */
  async take(payloads: readonly Payload[], cameAt: Date, connectedAt: string): Promise<void> {
    const carried = { 'received-at': cameAt.toISOString() };
    await Promise.all(
      payloads.map((payload) => {
        const eventId = eventIdOf(payload, connectedAt);
        return this.bus.publish(sleepRawReceived, { eventId, payload }, eventId, carried);
      }),
    );
  }
}

/** The same for the same word about the same record, whoever fetches it; not after a connection was cut and made anew: all of it was deleted. */
function eventIdOf(payload: Payload, connectedAt: string): string {
  return createHash('sha256')
    .update(`${connectedAt}\n${JSON.stringify(payload)}`)
    .digest('base64url');
}
