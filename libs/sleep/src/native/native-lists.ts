import { Injectable } from '@nestjs/common';
import { type Asker } from '#connections';
import { OuraClient } from '#oura';
import { WhoopClient } from '#whoop';
import { type NativeVendor } from '../contract/vendor-event.js';
import { type Payload } from './native-nights.js';
import { fromOura, fromWhoop } from './sleep-records.js';

/** What the vendors list, in our words. */
@Injectable()
export class NativeLists {
  constructor(
    private readonly oura: OuraClient,
    private readonly whoop: WhoopClient,
  ) {}

  /** All records of these local dates, both included, and perhaps some beside them; each is read for itself and may throw. */
  async of(
    vendor: NativeVendor,
    asker: Asker,
    userId: string,
    from: string,
    to: string,
  ): Promise<Array<() => Payload>> {
    if (vendor === 'oura') {
      const sleeps = await this.oura.sleepsOf(asker, from, to);
      return sleeps.map((read) => () => fromOura(userId, read()));
    }
    const sleeps = await this.whoop.sleepsOf(asker, from, to);
    return sleeps.map((read) => () => fromWhoop(userId, read()));
  }
}
