import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, LOGGER, type Logger } from '#platform';
import { type Bounds, OutboundCaller } from '#reliability';
import { VENDOR_IDS, type VendorId } from './registry.js';
import { type ProductConfig } from './settings.js';

const BOUNDS: Bounds = { attemptMs: 5_000, totalMs: 8_000 };

/** The longest time of one call to a vendor, its second attempt included. A lease on work that calls a vendor must be longer. */
export const LONGEST_CALL_MS = BOUNDS.totalMs;

/** One pool of HTTP connections to each vendor's API for all modules of a process. */
@Injectable()
export class VendorCallers implements OnApplicationShutdown {
  private readonly callers: ReadonlyMap<VendorId, OutboundCaller>;

  constructor(@Inject(CONFIG) { vendors }: ProductConfig, @Inject(LOGGER) logger: Logger) {
    const callerOf = (id: VendorId) =>
      new OutboundCaller(BOUNDS, { name: id, hosts: [vendors[id].apiUrl], logger });
    this.callers = new Map(VENDOR_IDS.map((id) => [id, callerOf(id)]));
  }

  of(vendor: VendorId): OutboundCaller {
    const caller = this.callers.get(vendor);
    if (!caller) throw new Error(`${vendor} is not in the registry`);
    return caller;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.callers.values()].map((caller) => caller.close()));
  }
}
