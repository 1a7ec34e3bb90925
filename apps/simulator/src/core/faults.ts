import { type Vendor } from './vendors.js';

/** The fault answers instead of the handler. The handler does not run, so the vendor's state does not change. */
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
  'consents_missing',
] as const;

/** The fault changes the answer after the handler has run. The handler's changes stay, even if the client receives nothing. */
const ANSWER_KINDS = [
  'malformed',
  'empty',
  'empty_json',
  'slow',
  'slow_body',
  'half_open',
  'wrong_length',
  'lost_answer',
] as const;

const WEBHOOK_KINDS = ['drop', 'double', 'reorder', 'slow'] as const;
/**
 * `late`: the streams of a new upload appear after `delay_ms` (before TIME_SCALE).
 * `late_challenge`: Oura challenges a new subscription after `delay_ms` (before TIME_SCALE, default 3 minutes).
 * `ssl_error`: Oura cannot verify the certificate of a new callback and sends no challenge.
 * `clock_offset`: the vendor's clock is ahead by `delay_ms` (not scaled), so the vendor's windows end earlier.
 * `athlete_limit`: athletes without a grant cannot connect.
 */
const STATE_KINDS = ['late', 'late_challenge', 'ssl_error', 'clock_offset', 'athlete_limit'] as const;

/** The endpoints of kinds that happen at some endpoints only: membership and consents matter on requests for a user's data. */
export const ENDPOINTS_OF_KIND: Partial<Record<FaultKind, readonly string[]>> = {
  membership_expired: ['personal_info', 'sleep', 'daily_sleep'],
  consents_missing: ['users', 'exercises', 'exercise', 'files', 'sleep'],
  ssl_error: ['subscriptions'],
  late_challenge: ['subscriptions'],
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
type WebhookKind = (typeof WEBHOOK_KINDS)[number];
type StateKind = (typeof STATE_KINDS)[number];
export type FaultKind = RequestKind | WebhookKind | StateKind;

const CHALLENGE_LATENESS_MS = 180_000;

export interface FaultOrder {
  vendor: Vendor;
  endpoint?: string;
  kind: FaultKind;
  /** The fault hits only requests with this id in the path. If undefined, the id does not matter. */
  resource?: string;
  /** Share of the matching calls that the fault hits; default 1. */
  rate?: number;
  /** Number of hits after which the fault ends. A fault without a count stays until it is removed. */
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

/** The injected faults, in the order of injection. The first matching fault hits a call. Faults are not saved. */
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

  /** The fault that hits this request, if any. A fault without an endpoint matches every endpoint except webhooks. */
  forRequest(
    vendor: Vendor,
    endpoint: string,
    resource?: string,
  ): (Fault & { kind: RequestKind }) | undefined {
    return this.match(vendor, endpoint, [...INSTEAD_KINDS, ...ANSWER_KINDS], resource);
  }

  forWebhook(vendor: Vendor): (Fault & { kind: WebhookKind }) | undefined {
    return this.match(vendor, 'webhooks', WEBHOOK_KINDS);
  }

  /** Delay between an upload and its streams, before TIME_SCALE. */
  streamLatenessMs(vendor: Vendor): number {
    return this.match(vendor, 'streams', ['late'])?.delay_ms ?? 0;
  }

  /** The fault that hits the challenge of a new subscription, if any. `lateMs` is before TIME_SCALE. */
  ofChallenge(vendor: Vendor): { kind: 'late_challenge' | 'ssl_error'; lateMs: number } | undefined {
    const fault = this.match(vendor, 'subscriptions', ['late_challenge', 'ssl_error']);
    return fault && { kind: fault.kind, lateMs: fault.delay_ms ?? CHALLENGE_LATENESS_MS };
  }

  /** Milliseconds by which this vendor's clock is ahead. */
  clockOffsetMs(vendor: Vendor): number {
    if (this.armed.length === 0) return 0;
    return (
      this.armed.find((fault) => fault.vendor === vendor && fault.kind === 'clock_offset')?.delay_ms ?? 0
    );
  }

  isArmed(vendor: Vendor, kind: StateKind): boolean {
    return this.armed.some((fault) => fault.vendor === vendor && fault.kind === kind);
  }

  private match<Kind extends FaultKind>(
    vendor: Vendor,
    endpoint: string,
    kinds: readonly Kind[],
    resource?: string,
  ) {
    for (const fault of this.armed) {
      if (fault.vendor !== vendor || !isOneOf(fault.kind, kinds)) continue;
      if (!(fault.endpoint === undefined ? endpoint !== 'webhooks' : fault.endpoint === endpoint)) continue;
      if (fault.resource !== undefined && fault.resource !== resource) continue;
      if (!(ENDPOINTS_OF_KIND[fault.kind]?.includes(endpoint) ?? true)) continue;
      if (fault.random() >= (fault.rate ?? 1)) continue;
      this.countHit(fault);
      return { ...visible(fault), kind: fault.kind };
    }
    return undefined;
  }

  private countHit(fault: ArmedFault): void {
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

/**
 * Mulberry32: numbers in [0, 1), the same on every machine. `#training-world` has another generator. With another
 * generator here, a fault with `seed` and `rate` would hit other calls than before.
 */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
