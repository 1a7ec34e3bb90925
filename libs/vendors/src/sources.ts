import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, TIME_SCALE, type TimeScale } from '#platform';
import { Budgets } from '#rate-limit';
import { TOKENS, type TokenSource } from './call/token-source.js';
import { VendorCalls } from './call/vendor-calls.js';
import { VendorCallers } from './callers.js';
import { type AccountSource } from './capabilities/account.js';
import { type ActivitySource } from './capabilities/activities.js';
import { type SleepSource } from './capabilities/sleep.js';
import { type StreamSource } from './capabilities/streams.js';
import { VENDOR_IDS, type VendorId, VENDORS } from './registry.js';
import { type ProductConfig } from './settings.js';
import { type Vendor } from './vendor.js';

interface VendorSources {
  readonly account?: AccountSource;
  readonly activities?: ActivitySource;
  readonly streams?: StreamSource;
  readonly sleep?: SleepSource;
}

/** The capabilities of each vendor. Throws if the vendor lacks the capability; `vendorsWith` lists the vendors that have it. */
@Injectable()
export class Sources {
  private readonly sources: ReadonlyMap<VendorId, VendorSources>;

  constructor(
    callers: VendorCallers,
    budgets: Budgets,
    @Inject(TOKENS) tokens: TokenSource,
    @Inject(CONFIG) { vendors }: ProductConfig,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    const callsOf = (id: VendorId) => {
      const { apiUrl } = vendors[id];
      return new VendorCalls(VENDORS[id], {
        apiUrl,
        caller: callers.of(id),
        budget: budgets.of(id),
        tokens,
        scale,
      });
    };
    this.sources = new Map(VENDOR_IDS.map((id) => [id, sourcesOf(VENDORS[id], callsOf(id))]));
  }

  account(vendor: VendorId): AccountSource {
    return this.find(vendor, 'account');
  }

  activities(vendor: VendorId): ActivitySource {
    return this.find(vendor, 'activities');
  }

  streams(vendor: VendorId): StreamSource {
    return this.find(vendor, 'streams');
  }

  sleep(vendor: VendorId): SleepSource {
    return this.find(vendor, 'sleep');
  }

  private find<Capability extends keyof VendorSources>(
    vendor: VendorId,
    capability: Capability,
  ): NonNullable<VendorSources[Capability]> {
    const source = this.sources.get(vendor)?.[capability];
    if (!source) throw new Error(`${vendor} has no ${capability}`);
    return source;
  }
}

function sourcesOf({ account, activities, streams, sleep }: Vendor, calls: VendorCalls): VendorSources {
  return {
    account: account?.(calls),
    activities: activities?.(calls),
    streams: streams?.(calls),
    sleep: sleep?.(calls),
  };
}
