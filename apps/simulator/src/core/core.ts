import { VendorClock, type TimeSource } from './clock.js';
import { ControlRegistry } from './controls.js';
import { Faults } from './faults.js';
import { Judge } from './judge.js';
import { Limits } from './limits.js';
import { Memory, type Snapshot } from './memory.js';
import { type Vendor } from './vendors.js';
import { Outbox } from './webhooks.js';
import { World } from './world.js';

export interface VendorApp {
  /** Only this client id is let in when set; any otherwise. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Signs events where the vendor has a secret apart from the client's. */
  readonly signingSecret?: string;
  /** Athletes the app may connect, as vendors cap new apps; endless when left out. */
  readonly athleteCapacity?: number;
}

export interface CoreOptions {
  readonly timeScale?: number;
  readonly time?: TimeSource;
  readonly apps?: Partial<Record<Vendor, VendorApp>>;
  /** How long a rotated-out refresh token still works, unscaled; 0 kills it at once. */
  readonly refreshGraceSeconds?: number;
}

/** All that the vendors share. */
export class Core {
  readonly clock: VendorClock;
  readonly judge = new Judge();
  readonly faults = new Faults();
  readonly controls = new ControlRegistry();
  readonly memory = new Memory();
  readonly limits: Limits;
  readonly outbox: Outbox;
  readonly world: World;

  constructor(readonly options: CoreOptions = {}) {
    this.clock = new VendorClock(options.timeScale, options.time);
    this.limits = new Limits(this.clock, this.judge, (vendor) => this.faults.clockOffsetMs(vendor));
    this.outbox = new Outbox(this.clock, this.judge, this.faults);
    this.world = new World(() => this.clock.nowMs());
    this.memory.keep('world', this.world);
    this.memory.keep('limits', this.limits);
    this.memory.keep('outbox', this.outbox);
  }

  app(vendor: Vendor): VendorApp {
    return this.options.apps?.[vendor] ?? {};
  }

  /** What belongs to an app rather than to the world, such as a subscription, stays. */
  reset(): void {
    this.outbox.reset();
    this.faults.clear();
    this.limits.reset();
    this.judge.reset();
    this.world.reset();
  }

  restore(snapshot: Snapshot): void {
    this.reset();
    this.memory.restore(snapshot);
  }
}
