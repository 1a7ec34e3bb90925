import { Injectable } from '@nestjs/common';
import { webhookEvents } from '#connections';
import { Clock, EventBus } from '#platform';
import { type OuraEvent } from '#oura';
import { type WhoopEvent } from '#whoop';
import { type NativeVendor, type VendorEvent, vendorEvents } from '../contract/vendor-event.js';

/** Keeps what vendors send. It is in the stream once this returns, and once however often it is sent. */
@Injectable()
export class VendorInbox {
  constructor(
    private readonly bus: EventBus,
    private readonly clock: Clock,
  ) {}

  /** Of what says nothing about sleep nothing is kept. */
  async fromOura({ type, dataType, objectId, userId, eventTime, dedupeKey }: OuraEvent): Promise<void> {
    if (dataType !== 'sleep' && dataType !== 'daily_sleep') return count('oura', 'ignored');
    const about = dataType === 'sleep' ? ('sleep' as const) : ('score' as const);
    const at = eventTime.toISOString();
    await this.keep({ vendor: 'oura', userId, objectId, about, isDeleted: type === 'delete', at }, dedupeKey);
  }

  async fromWhoop({ type, id, userId, traceId }: WhoopEvent): Promise<void> {
    if (type !== 'sleep.updated' && type !== 'sleep.deleted') return count('whoop', 'ignored');
    const at = new Date(this.clock.nowMs()).toISOString();
    const isDeleted = type === 'sleep.deleted';
    await this.keep({ vendor: 'whoop', userId, objectId: id, about: 'sleep', isDeleted, at }, traceId);
  }

  private async keep(event: VendorEvent, dedupeKey: string): Promise<void> {
    const { vendor } = event;
    const subject = vendorEvents[vendor];
    const { duplicate } = await this.bus.publish(subject, event, `${subject.name}:${dedupeKey}`);
    count(vendor, duplicate ? 'duplicate' : 'received');
  }
}

function count(vendor: NativeVendor, result: 'received' | 'duplicate' | 'ignored'): void {
  webhookEvents.inc({ vendor, result });
}
