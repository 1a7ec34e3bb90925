import { seededRandom } from './random.js';
import { type Vendor } from './vendors.js';

/** Told instead of the answer: the handler does not run, so the vendor's state stays as it was. */
export const INSTEAD_KINDS = [
  'http_500',
  'http_597',
  'http_429',
  'lying_429',
  'html',
  'timeout',
  'reset',
  'not_found',
  'app_inactive',
  'membership_expired',
] as const;

/** Done to the answer: the handler runs and what it changed stays changed, whatever the client sees. */
export const ANSWER_KINDS = [
  'malformed',
  'empty',
  'empty_json',
  'slow',
  'slow_body',
  'half_open',
  'wrong_length',
  'lost_answer',
] as const;

export const WEBHOOK_KINDS = ['drop', 'double', 'reorder', 'slow'] as const;
/**
 * `late`: streams of a fresh upload come `delay_ms` later, unscaled. `clock_offset`: the vendor's clock is ahead by
 * `delay_ms`, so its windows end that much earlier. `athlete_limit`: nobody new may connect.
 */
export const STATE_KINDS = ['late', 'clock_offset', 'athlete_limit'] as const;

/** Where a kind can happen, for those that cannot happen everywhere: a user's membership is asked for by their data only. */
export const PLACES_OF: Partial<Record<FaultKind, readonly string[]>> = {
  membership_expired: ['personal_info', 'sleep', 'daily_sleep'],
};

export const FAULT_KINDS = {
  instead: INSTEAD_KINDS,
  answer: ANSWER_KINDS,
  webhook: WEBHOOK_KINDS,
  state: STATE_KINDS,
} as const;

export type InsteadKind = (typeof INSTEAD_KINDS)[number];
export type AnswerKind = (typeof ANSWER_KINDS)[number];
export type RequestKind = InsteadKind | AnswerKind;
export type WebhookKind = (typeof WEBHOOK_KINDS)[number];
export type StateKind = (typeof STATE_KINDS)[number];
export type FaultKind = RequestKind | WebhookKind | StateKind;

export interface FaultOrder {
  vendor: Vendor;
  endpoint?: string;
  kind: FaultKind;
  /** The one resource it hits, by its id in the path; any when left out. */
  resource?: string;
  /** Share of the matching calls that are hit; 1 when left out. */
  rate?: number;
  /** How many hits until the fault is spent; endless when left out. */
  count?: number;
  delay_ms?: number;
  seed?: number;
}

export interface Fault extends FaultOrder {
  readonly id: number;
  hits: number;
}

interface ArmedFault extends Fault {
  readonly random: () => number;
}

export class Faults {
  private armed: ArmedFault[] = [];
  private nextId = 1;

  add(order: FaultOrder): Fault {
    const id = this.nextId++;
    const fault = { ...order, id, hits: 0, random: seededRandom(order.seed ?? id) };
    this.armed.push(fault);
    return visible(fault);
  }

  list(): Fault[] {
    return this.armed.map(visible);
  }

  clear(vendor?: Vendor): number {
    const before = this.armed.length;
    this.armed = vendor ? this.armed.filter((fault) => fault.vendor !== vendor) : [];
    return before - this.armed.length;
  }

  /** The fault this request runs into, if any. A fault without endpoint hits every endpoint but the webhooks. */
  forRequest(
    vendor: Vendor,
    endpoint: string,
    resource?: string,
  ): (Fault & { kind: RequestKind }) | undefined {
    return this.strike(vendor, endpoint, [...INSTEAD_KINDS, ...ANSWER_KINDS], resource);
  }

  forWebhook(vendor: Vendor): (Fault & { kind: WebhookKind }) | undefined {
    return this.strike(vendor, 'webhooks', WEBHOOK_KINDS);
  }

  /** How much later (unscaled) than the upload its streams appear. */
  streamLatenessMs(vendor: Vendor): number {
    return this.strike(vendor, 'streams', ['late'])?.delay_ms ?? 0;
  }

  /** How far this vendor's idea of a window boundary is ahead of ours. */
  clockOffsetMs(vendor: Vendor): number {
    if (this.armed.length === 0) return 0;
    return (
      this.armed.find((fault) => fault.vendor === vendor && fault.kind === 'clock_offset')?.delay_ms ?? 0
    );
  }

  isArmed(vendor: Vendor, kind: StateKind): boolean {
    return this.armed.some((fault) => fault.vendor === vendor && fault.kind === kind);
  }

  private strike<Kind extends FaultKind>(
    vendor: Vendor,
    endpoint: string,
    kinds: readonly Kind[],
    resource?: string,
  ) {
    for (const fault of this.armed) {
      if (fault.vendor !== vendor || !isOneOf(fault.kind, kinds)) continue;
      if (!(fault.endpoint === undefined ? endpoint !== 'webhooks' : fault.endpoint === endpoint)) continue;
      if (fault.resource !== undefined && fault.resource !== resource) continue;
      if (!(PLACES_OF[fault.kind]?.includes(endpoint) ?? true)) continue;
      if (fault.random() >= (fault.rate ?? 1)) continue;
      this.hit(fault);
      return { ...visible(fault), kind: fault.kind };
    }
    return undefined;
  }

  private hit(fault: ArmedFault): void {
    fault.hits++;
    if (fault.count !== undefined && fault.hits >= fault.count) {
      this.armed = this.armed.filter((other) => other !== fault);
    }
  }
}

function isOneOf<Kind extends FaultKind>(kind: FaultKind, kinds: readonly Kind[]): kind is Kind {
  return (kinds as readonly FaultKind[]).includes(kind);
}

function visible({ random: _random, ...fault }: ArmedFault): Fault {
  return fault;
}
