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
  /** The only accepted client id; if undefined, every id is accepted. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The key that signs events, if the vendor does not sign with the client secret. */
  readonly signingSecret?: string;
  /** Number of athletes that the app may connect, because vendors limit new apps. No limit if undefined. */
  readonly athleteCapacity?: number;
}

export interface CoreOptions {
  readonly timeScale?: number;
  readonly time?: TimeSource;
  /** Name of the app on consent pages. */
  readonly appName?: string;
  readonly apps?: Partial<Record<Vendor, VendorApp>>;
  /** How long a rotated refresh token still works, before TIME_SCALE. At 0 a rotated token stops working at once. */
  readonly refreshGraceSeconds?: number;
}

/** The parts that all vendors share: clock, counters, faults, limits, events, athletes and saved state. */
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

  get appName(): string {
    return this.options.appName ?? 'Pacekeeper';
  }

  app(vendor: Vendor): VendorApp {
    return this.options.apps?.[vendor] ?? {};
  }

  /** Resets athletes, events, faults, limits and counts. Keeps subscriptions and other data of the app. */
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
