import { timingSafeEqual } from 'node:crypto';
import { type Core, type StatePart, type Vendor } from '../core/index.js';

/**
 * The application that is registered at a vendor. Without a configured client the simulator accepts every id and secret,
 * and signs events with the last received secret. It treats several applications as one.
 */
export class ClientApp implements StatePart<string | null> {
  private shownSecret: string | undefined;

  constructor(
    private readonly core: Core,
    private readonly vendor: Vendor,
  ) {
    core.memory.keep(`${vendor} client`, this);
  }

  get name(): string {
    return this.core.appName;
  }

  save(): string | null {
    return this.shownSecret ?? null;
  }

  restore(shownSecret: string | null): void {
    this.shownSecret = shownSecret ?? undefined;
  }

  knowsId(clientId: unknown): clientId is string {
    const { clientId: expected } = this.core.app(this.vendor);
    return isText(clientId) && (expected === undefined || clientId === expected);
  }

  recognises(clientId: unknown, clientSecret: unknown): boolean {
    const { clientSecret: expected } = this.core.app(this.vendor);
    if (!this.knowsId(clientId) || !isText(clientSecret)) return false;
    if (expected !== undefined) return isSame(clientSecret, expected);
    this.shownSecret = clientSecret;
    return true;
  }

  /** The key that signs events. */
  get secret(): string {
    return this.core.app(this.vendor).clientSecret ?? this.shownSecret ?? `${this.vendor}-client-secret`;
  }
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
