import { Injectable } from '@nestjs/common';
import { Clock, EventBus } from '#platform';
import { type OuraEvent } from '#oura';
import { type WhoopEvent } from '#whoop';
import { vendorEvent } from '../contract/vendor-event.js';

/** Keeps what vendors send. It is in the stream once this returns, and once however often it is sent. */
@Injectable()
export class VendorInbox {
  constructor(
    private readonly bus: EventBus,
    private readonly clock: Clock,
  ) {}

  /** Of what says nothing about sleep nothing is kept. */
  async fromOura({ type, dataType, objectId, userId, eventTime, dedupeKey }: OuraEvent): Promise<void> {
    if (dataType !== 'sleep' && dataType !== 'daily_sleep') return;
    const about = dataType === 'sleep' ? ('sleep' as const) : ('score' as const);
    const at = eventTime.toISOString();
    const event = { vendor: 'oura' as const, userId, objectId, about, isDeleted: type === 'delete', at };
    await this.bus.publish(vendorEvent, event, `${vendorEvent.name}:oura:${dedupeKey}`);
  }

  async fromWhoop({ type, id, userId, traceId }: WhoopEvent): Promise<void> {
    if (type !== 'sleep.updated' && type !== 'sleep.deleted') return;
    const event = {
      vendor: 'whoop' as const,
      userId,
      objectId: id,
      about: 'sleep' as const,
      isDeleted: type === 'sleep.deleted',
      at: new Date(this.clock.nowMs()).toISOString(),
    };
    await this.bus.publish(vendorEvent, event, `${vendorEvent.name}:whoop:${traceId}`);
  }
}
